// Failing schedules become simple ones, and schedules go together with other input in fast-check.

import { strict as assert } from "node:assert";
import { fc, test as properties } from "@fast-check/vitest";
import type { Pid } from "signalbox";
import { arbitrarySchedules, explore, type Scenario, ScheduleFailedError, simulate } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { shapeOf } from "../../../lib/testing/exploration/failure-identity.js";
import { shrinkChoices, trimmed } from "../../../lib/testing/exploration/shrink.js";
import { proving, sized } from "../../support/proof.js";
import { ELECTION_FAULTS, election } from "../support/election.js";
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

  properties.prop([list, fc.nat(39), fc.integer({ min: 1, max: 6 })], { numRuns: sized(40, 1 / 100, 100) })(
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

describe("shrinking keeps to one bug", () => {
  /** Two bugs that fail with the same class and code: an assertion each. */
  const twoBugs: Scenario = (sim) => {
    const [a, b] = [sim.choose(3), sim.choose(3)];
    if (a === 2 && b === 2) assert.equal(a + b, 0);
    if (a === 2) assert.equal(a, 0);
  };

  /** The failure of a schedule whose choices fail with the first of them. */
  async function firstBug(): Promise<ScheduleFailedError> {
    for (let seed = 1; ; seed++) {
      const error = await failureOf(twoBugs, { schedules: 1_000, seed });
      if (error.choices.length === 2) return error;
    }
  }

  test("another assertion of the same kind is another bug: it is listed, with a token [T17]", async () => {
    const error = await firstBug();
    expect(error.choices).toEqual([2, 2]);
    expect((error.cause as Error).message).toContain("4 !== 0");
    const [other] = error.found.others;
    expect(error.found.others).toHaveLength(1);
    expect(other?.failure).toContain("2 !== 0");
    expect(error.message).toContain("other failures met while it was shrunk:");
    expect(error.message).toContain(`replay: "${other?.token}"`);
    const replayed = await failureOf(twoBugs, { replay: other?.token as string });
    expect((replayed.cause as Error).message).toContain("2 !== 0");
  });

  test("numbers, ids and values in the text do not make another bug", async () => {
    const error = await failureOf(
      (sim) => {
        const [a, b] = [sim.choose(200), sim.choose(200)];
        if (a > 0) throw new Error(`order ${a} of "shop-${b}" is lost: [${a}, ${b}]`);
      },
      { schedules: 100 },
    );
    expect(error.choices).toEqual([1]);
    expect(error.found.others).toEqual([]);
  });

  test.each([
    ["94 !== 97", "12 !== 5"],
    ["expected [ 1, [ 2 ] ] to deeply equal {}", "expected [] to deeply equal { a: 1 }"],
    ["c came before a: abc", "c came before a: cba"],
    ['no "tea" at shop/till#2', 'no "milk" at shop/till#13'],
    ["no answer from a1b2c3d4-77\n  at one place", "no answer from 99ee-0b\n  at another"],
  ])("%s has the shape of %s", (one, other) => {
    expect(shapeOf(one)).toBe(shapeOf(other));
  });

  test.each([
    ["94 !== 97", "94 === 97"],
    ["expected 1 to be 2", "expected 1 to be less than 2"],
    ["no tea", "no milk"],
  ])("%s has another shape than %s", (one, other) => {
    expect(shapeOf(one)).not.toBe(shapeOf(other));
  });

  test("in a limit of real time, however small", async () => {
    const error = await failureOf(twoBugs, { schedules: 1_000, shrinkMs: 0 });
    expect(error.found.tried).toBe(0);
    expect(error.trace.steps.length).toBeGreaterThan(0);
  });
});

describe("a long schedule", () => {
  test.runIf(proving)(
    "of five nodes that elect leaders takes less than 150 steps, in the median",
    async () => {
      const options = { faults: ELECTION_FAULTS, shrinkMs: Number.POSITIVE_INFINITY };
      const lengths: { readonly found: number; readonly told: number }[] = [];
      for (const seed of [1, 4, 5]) {
        const error = await failureOf(election(true, 3_000), { ...options, seed });
        expect(error.cause).toMatchObject({ invariant: "a term has one leader" });
        lengths.push({ found: error.found.steps, told: error.trace.steps.length });
      }
      const median = (values: readonly number[]): number =>
        [...values].sort((a, b) => a - b)[values.length >> 1] as number;
      expect(median(lengths.map(({ found }) => found))).toBeGreaterThan(300);
      expect(median(lengths.map(({ told }) => told))).toBeLessThan(150);
      await explore(election(false, 3_000), { schedules: 20, faults: ELECTION_FAULTS });
    },
  );

  test("fails like the found one, whichever parts were left out", async () => {
    const limits = { shrink: 400, shrinkMs: Number.POSITIVE_INFINITY };
    const error = await failureOf(election(true, 3_000), { ...limits, seed: 3, faults: ELECTION_FAULTS });
    expect(error.found.tried).toBeLessThanOrEqual(400);
    expect(error.found.steps).toBeGreaterThan(300);
    expect(error.trace.steps.length).toBeLessThan(150);
    const options = { faults: ELECTION_FAULTS, replay: error.token };
    expect((await failureOf(election(true, 3_000), options)).trace).toEqual(error.trace);
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

  properties.prop([arbitrarySchedules(), fc.array(order, { maxLength: 5 })], {
    numRuns: sized(40, 1 / 100, 100),
  })("play in `simulate`, for properties that vary the input as well", async (choices, orders) => {
    const small = orders.map(({ item, n }) => ({ item, n: n % 5 }));
    await simulate(selling(small), { choices });
  });

  test("shrink together with it: to the smallest input and the fewest deviations", async () => {
    const result = await fc.check(
      fc.asyncProperty(arbitrarySchedules(), fc.array(order), async (choices, orders) => {
        await simulate(selling(orders), { choices });
      }),
      { numRuns: sized(300, 1 / 10, 1_000), seed: 42 },
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
