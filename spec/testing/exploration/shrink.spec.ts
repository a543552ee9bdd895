// Failing schedules become simple ones, and schedules go together with other input in fast-check.

import { fc, test as properties } from "@fast-check/vitest";
import type { Pid } from "signalbox";
import { arbitrarySchedules, type Scenario, ScheduleFailedError, simulate } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { shrinkChoices, trimmed } from "../../../lib/testing/exploration/shrink.js";
import { failureOf } from "../support/found.js";

const list = fc.array(fc.oneof(fc.constant(0), fc.nat(6)), { maxLength: 40 });

/** How far a list is from ordinary. */
function deviations(choices: readonly number[]): number {
  return choices.filter((choice) => choice > 0).length;
}

describe("shrinking a list of choices", () => {
  /** Fails when there are at least so many deviations. */
  const most = 2_000;

  test("drops choices that the failure does not need", async () => {
    const fails = async (choices: readonly number[]): Promise<boolean> => choices[3] === 2;
    expect(await shrinkChoices([1, 0, 3, 2, 1, 1, 0, 4], fails, most)).toEqual([0, 0, 0, 2]);
  });

  test("makes the rest as small as it gets", async () => {
    const fails = async (choices: readonly number[]): Promise<boolean> => (choices[1] ?? 0) >= 3;
    expect(await shrinkChoices([0, 100], fails, most)).toEqual([0, 3]);
  });

  test("moves it to the front where that makes no difference", async () => {
    const fails = async (choices: readonly number[]): Promise<boolean> => choices.includes(1);
    expect(await shrinkChoices([0, 0, 0, 0, 1], fails, most)).toEqual([1]);
  });

  test("keeps choices that fail only together", async () => {
    const fails = async (choices: readonly number[]): Promise<boolean> =>
      choices[0] === 1 && choices[5] === 2;
    expect(await shrinkChoices([1, 1, 1, 1, 1, 2, 1, 1], fails, most)).toEqual([1, 0, 0, 0, 0, 2]);
  });

  test("is nothing when nothing is left to drop, or when it fails in the ordinary way", async () => {
    expect(await shrinkChoices([1], async (choices) => choices[0] === 1, most)).toEqual([1]);
    expect(await shrinkChoices([0, 3, 0, 1], async () => true, most)).toEqual([]);
  });

  test("tries no more lists than it may", async () => {
    let tried = 0;
    const fails = async (choices: readonly number[]): Promise<boolean> => {
      tried++;
      return deviations(choices) >= 10;
    };
    const result = await shrinkChoices(new Array(200).fill(1), fails, 7);
    expect(tried).toBeLessThanOrEqual(7);
    expect(deviations(result)).toBeGreaterThanOrEqual(10);
  });

  properties.prop([list, fc.nat(39), fc.integer({ min: 1, max: 6 })], { numRuns: 100 })(
    "what comes of it fails, and has no deviation that it could do without",
    async (given, place, least) => {
      const fails = async (choices: readonly number[]): Promise<boolean> =>
        (choices[place] ?? 0) >= least && deviations(choices) >= 2;
      if (!(await fails(given))) return;
      const result = await shrinkChoices(given, fails, most);
      expect(await fails(result)).toBe(true);
      for (const index of result.keys())
        if (result[index] !== 0) expect(await fails(result.with(index, 0))).toBe(false);
      expect(result).toEqual(trimmed(result));
    },
  );
});

describe("without the ordinary choices at its end", () => {
  test("a list means the same", () => {
    expect(trimmed([0, 1, 0, 2, 0, 0])).toEqual([0, 1, 0, 2]);
    expect(trimmed([0, 0])).toEqual([]);
    expect(trimmed([])).toEqual([]);
    const short = [0, 1];
    expect(trimmed(short)).toBe(short);
  });
});

describe("the shortest schedule found", () => {
  test("has no fault in it that does not matter", async () => {
    const error = await failureOf(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const pids = ["a", "b", "c", "d"].map((label) =>
          system.spawn({ handle: () => undefined }, { label }),
        );
        await sim.sleep(10);
        if (!system.isAlive(pids[2] as Pid)) throw new Error("c is gone");
      },
      {
        schedules: 2_000,
        faults: {
          crash: { of: "shop/*", atMost: 4 },
          pause: { of: "shop/*", atMost: 4 },
          rush: { atMost: 4 },
        },
      },
    );
    const faults = error.trace.steps.filter((step) => step.type === "fault");
    expect(faults.map((step) => `${step.process} ${step.type === "fault" ? step.fault : ""}`)).toEqual([
      "shop/c crashes",
    ]);
  });

  test("fails alike: another failure on the way is not taken for it", async () => {
    const error = await failureOf(
      (sim) => {
        const [a, b] = [sim.choose(3), sim.choose(3)];
        // With fewer deviations it fails in another way.
        if (a === 2 && b === 2) throw new RangeError("both");
        if (a === 2) throw new TypeError("only one");
      },
      { schedules: 1_000, seed: 5 },
    );
    const expected = error.cause instanceof RangeError ? [2, 2] : [2];
    expect(error.choices).toEqual(expected);
  });
});

describe("schedules as input", () => {
  interface Order {
    readonly item: string;
    readonly n: number;
  }

  /** Sells orders from a shelf of ten by two clerks; wrong when somebody orders more than five and bob is first. */
  const selling = (orders: readonly Order[]): Scenario => {
    return async (sim) => {
      const system = sim.system({ name: "shop" });
      let trail = "";
      for (const label of ["ann", "bob"])
        system.spawn(
          () => {
            trail += label;
          },
          { label },
        );
      await sim.quiet();
      if (trail.startsWith("bob") && orders.some(({ n }) => n > 5)) throw new Error("sold too much");
    };
  };
  const order = fc.record({ item: fc.constantFrom("tea", "milk"), n: fc.nat(20) });

  properties.prop([arbitrarySchedules(), fc.array(order, { maxLength: 5 })], { numRuns: 100 })(
    "play in `simulate`, for properties that vary the input as well",
    async (choices, orders) => {
      const small = orders.map(({ item, n }) => ({ item, n: n % 5 }));
      await simulate(selling(small), { choices });
    },
  );

  test("shrink together with it: to the smallest input and the fewest deviations", async () => {
    const result = await fc.check(
      fc.asyncProperty(arbitrarySchedules(), fc.array(order), async (choices, orders) => {
        await simulate(selling(orders), { choices });
      }),
      { numRuns: 1_000, seed: 42 },
    );
    expect(result.failed).toBe(true);
    expect(result.errorInstance).toBeInstanceOf(ScheduleFailedError);
    const [choices, orders] = result.counterexample as [readonly number[], readonly Order[]];
    expect(orders).toEqual([{ item: "tea", n: 6 }]);
    expect(choices).toEqual([1]);
  });

  test("are lists of whole numbers, mostly 0, of at most the length that is given", () => {
    const samples = fc.sample(arbitrarySchedules(50), { numRuns: 500, seed: 1 });
    const all = samples.flat();
    expect(Math.max(...samples.map((choices) => choices.length))).toBeLessThanOrEqual(50);
    expect(all.every((choice) => Number.isInteger(choice) && choice >= 0)).toBe(true);
    expect(deviations(all)).toBeLessThan(all.length / 2);
    expect(new Set(all).size).toBeGreaterThan(4);
  });

  test("may be given by hand as examples", async () => {
    const result = await fc.check(
      fc.asyncProperty(arbitrarySchedules(), async (choices) => choices.length < 3 || choices[2] !== 1),
      { examples: [[[4, 4, 1, 4]]], numRuns: 1 },
    );
    expect(result.counterexample).toEqual([[0, 0, 1]]);
  });
});
