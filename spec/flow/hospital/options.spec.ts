// Options of a hospital are checked once, and each wrong one is named.

import { describe, expect, it } from "vitest";
import { HOSPITAL_DEFAULTS } from "../../../lib/flow/hospital/defaults.js";
import { checkHospital, type HospitalOptions } from "../../../lib/flow/hospital/options.js";
import { DEFAULT_STAFF } from "../../../lib/flow/hospital/staff.js";

describe("the options of a hospital", () => {
  it("are all optional, and the table of defaults has the rest", () => {
    const { config, maxCrashes, onError } = checkHospital("hospital");
    expect({ ...config, maxCrashes }).toEqual({
      ...HOSPITAL_DEFAULTS,
      atStart: "keep",
      staff: DEFAULT_STAFF,
    });
    expect(onError).toBe("fail");
  });

  it("keep what was given", () => {
    const mine = { name: "mine", diagnose: () => "observe" as const };
    const { config } = checkHospital("hospital", { staff: [mine], backoff: { maxMs: 20_000 }, maxFlows: 5 });
    expect(config.staff).toEqual([mine, ...DEFAULT_STAFF]);
    expect(config.backoff).toEqual({ firstMs: 0, minMs: 10_000, maxMs: 20_000, factor: 1.5 });
    expect(config.maxFlows).toBe(5);
  });

  const diagnose = (): "observe" => "observe";
  it.each([
    [{ stuff: [] }, "hospital.stuff", "did you mean staff?"],
    [{ staff: {} }, "hospital.staff", "an array of { name, diagnose }"],
    [{ staff: [undefined] }, "hospital.staff[0]", "{ name, diagnose } with a function diagnose"],
    [{ staff: [{ name: "a" }] }, "hospital.staff[0]", "with a function diagnose"],
    [{ staff: [{ name: "", diagnose }] }, "hospital.staff[0].name", "a text that is not empty"],
    [{ staff: [{ name: "deadlock", diagnose }] }, "hospital.staff[0].name", "another name than"],
    [
      { staff: [1, 2].map(() => ({ name: "a", diagnose })) },
      "hospital.staff[1].name",
      "another name than deadlock, constraint",
    ],
    [{ backoff: { minMs: 10, maxMs: 5 } }, "hospital.backoff.maxMs", "10 or more"],
    [{ backoff: { firstMs: -1 } }, "hospital.backoff.firstMs", "0 or more"],
    [{ backoff: { maxMs: Number.POSITIVE_INFINITY } }, "hospital.backoff.maxMs", "milliseconds"],
    [{ backoff: { factor: 0.5 } }, "hospital.backoff.factor", "a number, 1 or more"],
    [{ backoff: { minMS: 5 } }, "hospital.backoff.minMS", "did you mean minMs?"],
    [{ maxDischarges: 0 }, "hospital.maxDischarges", "a whole number, 1 or more"],
    [{ maxFlows: 1.5 }, "hospital.maxFlows", "a whole number"],
    [{ maxVisits: 0 }, "hospital.maxVisits", "1 or more"],
    [{ maxCrashes: Number.NaN }, "hospital.maxCrashes", "1 or more"],
    [{ onError: "retry" }, "hospital.onError", '"fail", "hospital"'],
    [{ atStart: true }, "hospital.atStart", '"keep", "discharge"'],
    [null, "hospital", "an object of"],
  ])("%j is refused at %s", (options, path, allowed) => {
    expect(() => checkHospital("hospital", options as HospitalOptions)).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path, message: expect.stringContaining(allowed) }),
    );
  });
});
