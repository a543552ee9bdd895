// A register on a singleton, through the checker of linearizability: machines are paused, cut off from each other and from the store, and lose
// power, and wall clocks jump. Which reads are linearizable, and which are not.

import {
  assertLinearizable,
  explore,
  type NodePauseRule,
  ScheduleFailedError,
  type Simulation,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { explored, proving } from "../../support/proof.js";
import { REGISTER, type ReadKind, registers } from "./register.js";

const NAMES = ["a", "b", "c"] as const;
const SEEN = ["the register moved", "most operations were answered"];

const scenario = (kind: ReadKind) => async (sim: Simulation) => {
  const { history, leases, ways } = registers(sim, { kind, names: NAMES, operations: 5 });
  sim.calm();
  await sim.until("a first owner", () => leases.length > 0);
  sim.storm();
  const way = sim.oneOf([undefined, ...ways], "cut off from the store");
  way?.cut();
  await sim.sleep(3_000);
  way?.heal();
  await sim.sleep(6_000);
  sim.calm();
  await sim.sleep(3_000);
  assertLinearizable(history, REGISTER);
  sim.sometimes("the register moved", leases.length > 1);
  sim.sometimes(
    "most operations were answered",
    history.operations.filter(({ outcome }) => outcome === "answered").length > 8,
  );
};

const faultsWith = (clock: NodePauseRule["clock"] = "runs") => ({
  nodePause: { of: "*", atMost: 2, forMs: [100, 2_500], clock },
  nodeCrash: { of: "*", atMost: 1, downMs: [0, 3_000] },
});

/** Explores the plain way until it fails, and returns why. */
async function failureOf(kind: ReadKind, faults: ReturnType<typeof faultsWith>): Promise<unknown> {
  const error = await explore(scenario(kind), { schedules: 3_000, seed: 1, faults, shrink: 0 }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ScheduleFailedError);
  return (error as ScheduleFailedError).cause;
}

describe("a register on a singleton is linearizable", () => {
  test("when it reads its memory while `isHeld`, and writes under its lease [N1393]", async () => {
    await explored(scenario("checked"), {
      quick: 5,
      seed: 1,
      share: 0.1,
      sometimes: SEEN,
      faults: faultsWith(),
    });
  });

  test("when it commits under its lease before it answers, also where a clock stands [N1394]", async () => {
    const faults = faultsWith(["runs", "stands"]);
    await explored(scenario("fenced"), { quick: 4, seed: 1, share: 0.1, sometimes: SEEN, faults });
  });

  test.runIf(proving)("when it reads the store, also where a clock stands [N1394]", async () => {
    const faults = faultsWith(["runs", "stands"]);
    await explored(scenario("stored"), { quick: 8, seed: 1, share: 0.05, sometimes: SEEN, faults });
  });
});

describe.runIf(proving)("a register on a singleton is not linearizable", () => {
  test("when it reads its memory alone: the search finds that", async () => {
    expect(await failureOf("plain", faultsWith())).toMatchObject({ code: "ERR_NOT_LINEARIZABLE" });
  });

  test("when it relies on `isHeld` where a clock stands: the search finds that", async () => {
    expect(await failureOf("checked", faultsWith("stands"))).toMatchObject({ code: "ERR_NOT_LINEARIZABLE" });
  });
});
