// What users say about schedules, and what is refused.

import { OptionError } from "signalbox";
import { describe, expect, it } from "vitest";
import { loadCron } from "../../../lib/flow/schedules/cron.js";
import {
  checkNames,
  configOf,
  defined,
  RULES,
  type ScheduleRules,
} from "../../../lib/flow/schedules/definition.js";
import { ScheduleError } from "../../../lib/flow/schedules/errors.js";

const parse = await loadCron();

describe("a definition", () => {
  it("is plain, with all defaults filled in, and survives a store", () => {
    const definition = defined(
      "report",
      { every: "1 hour", overlap: undefined } as unknown as ScheduleRules,
      undefined,
    );
    expect(definition).toEqual({
      ...{ everyMs: 3_600_000, timeZone: "UTC", missed: "last", overlap: "allow" },
      ...{ jitterMs: 0, graceMs: 60_000, backfill: 100 },
    });
    expect(JSON.parse(JSON.stringify(definition))).toEqual(definition);
  });

  it.each([
    [{ every: "1 hour" }, 0, 3_600_000],
    [{ cron: "30 2 * * *", timeZone: "Europe/Berlin" }, 0, 5_400_000],
    [{ at: ["1970-01-01T00:00:05Z", 3_000] }, 0, 3_000],
  ] as [ScheduleRules, number, number][])("%j has due times", (rules, after, expected) => {
    const config = configOf("report", defined("report", rules, parse), parse);
    expect(config.recurrence.next(after)).toBe(expected);
  });
});

describe("a schedule that cannot be understood", () => {
  it.each([
    [{}, "cron, every or at"],
    [{ cron: "* * * * *", every: 1_000 }, "cron, every or at"],
    [{ cron: "every day" }, "cron"],
    [{ every: "1 fortnight" }, "every"],
    [{ every: 10 }, "every"],
    [{ every: Number.NaN }, "every"],
    [{ at: [] }, "at"],
    [{ at: "2026-11-22T18:00:00Z" }, "at"],
    [{ at: Array.from({ length: 1_001 }, () => 0) }, "at"],
    [{ at: [0, "tomorrow"] }, "at[1]"],
    [{ every: 1_000, timeZone: "Mars/Olympus" }, "timeZone"],
    [{ every: 1_000, missed: "some" }, "missed"],
    [{ every: 1_000, overlap: null }, "overlap"],
    [{ every: 1_000, jitter: -1 }, "jitter"],
    [{ every: 1_000, grace: "soon" }, "grace"],
    [{ every: 1_000, backfill: 0 }, "backfill"],
    [{ every: 1_000, backfill: 1e6 }, "backfill"],
  ])("%j is refused at %s [U16]", (rules, field) => {
    const read = (): unknown => defined("report", rules as ScheduleRules, parse);
    expect(read).toThrow(ScheduleError);
    try {
      read();
    } catch (error) {
      expect(error).toMatchObject({ field, schedule: "report" });
      expect((error as Error).message).toMatch(/^schedule "report": .* must be .*; got /);
    }
  });

  it("is refused by its name and unknown options too, with the one that was probably meant", () => {
    expect(() => checkNames("report", { evry: 1 }, RULES)).toThrow(
      /schedule report.evry .*did you mean every/,
    );
    for (const name of ["", "a/b", 5, undefined, "x".repeat(201)])
      expect(() => checkNames(name, {}, RULES)).toThrow(OptionError);
  });
});
