// Draws that are not scheduling: faults are rare and their rates differ from schedule to schedule, all else is even.

import { fc, test } from "@fast-check/vitest";
import { OptionError } from "signalbox";
import { describe, expect } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import {
  checkRates,
  FAULT_KINDS,
  FaultDraws,
  type FaultRates,
} from "../../../lib/testing/strategies/swarm.js";
import { slack } from "../support/toy.js";

const SCHEDULES = 4_000;
const rates = (seed: number, given: FaultRates = {}): FaultDraws => new FaultDraws(new Random(seed), given);
const schedules = Array.from({ length: SCHEDULES }, (_, seed) => rates(seed));

describe("the rates of a schedule", () => {
  test.each(FAULT_KINDS)("leave %s out of every third schedule", (kind) => {
    const off = schedules.filter((schedule) => schedule.rate(kind) === 0).length;
    expect(Math.abs(off / SCHEDULES - 1 / 3)).toBeLessThan(slack(1 / 3, SCHEDULES));
  });

  test("are between 0.002 and 0.3 where a kind is on, each order of size as likely as the others", () => {
    const on = schedules.flatMap((schedule) =>
      FAULT_KINDS.map((kind) => schedule.rate(kind)).filter((rate) => rate > 0),
    );
    expect(Math.min(...on)).toBeGreaterThanOrEqual(0.002);
    expect(Math.max(...on)).toBeLessThan(0.3);
    // From 0.002 to 0.3 there are log(150) steps of the same ratio; 0.02 is reached after log(10) of them.
    for (const [below, share] of [
      [0.02, Math.log(10) / Math.log(150)],
      [0.1, Math.log(50) / Math.log(150)],
    ] as const) {
      const found = on.filter((rate) => rate < below).length / on.length;
      expect(Math.abs(found - share)).toBeLessThan(slack(share, on.length));
    }
  });

  test("are drawn for each kind by itself: that one is off says nothing of the next", () => {
    const both = schedules.filter((s) => s.rate("crash") === 0 && s.rate("pause") === 0).length;
    expect(Math.abs(both / SCHEDULES - 1 / 9)).toBeLessThan(slack(1 / 9, SCHEDULES));
  });

  test("are those given, and giving one leaves the others as they were", () => {
    for (let seed = 0; seed < 50; seed++) {
      const free = rates(seed);
      const given = rates(seed, { crash: 0.5, disk: 0 });
      expect(given.rate("crash")).toBe(0.5);
      expect(given.rate("disk")).toBe(0);
      for (const kind of FAULT_KINDS) {
        if (kind !== "crash" && kind !== "disk") expect(given.rate(kind)).toBe(free.rate(kind));
      }
    }
  });
});

describe("a draw", () => {
  const DRAWS = 20_000;
  const counts = (n: number, label: string, given: FaultRates): number[] => {
    const faults = rates(7, given);
    const found = new Array<number>(n).fill(0);
    for (let i = 0; i < DRAWS; i++) found[faults.draw(n, label)]!++;
    return found;
  };
  const evenly = (found: readonly number[], probability: number): void => {
    for (const many of found)
      expect(Math.abs(many / DRAWS - probability)).toBeLessThan(slack(probability, DRAWS));
  };

  test.each(FAULT_KINDS)("of %s is 0 but for its rate, and then any of the others", (kind) => {
    for (const label of [kind, `${kind}:shop/stock`]) {
      const [ordinary, ...others] = counts(5, label, { [kind]: 0.2 });
      evenly([ordinary as number], 0.8);
      evenly(others, 0.05);
    }
  });

  test("of a kind that is off is always 0, of one with rate 1 never", () => {
    expect(counts(3, "drop:a>b", { drop: 0 })[0]).toBe(DRAWS);
    expect(counts(3, "drop:a>b", { drop: 1 })[0]).toBe(0);
  });

  test.each(["random", "coin", "", "crashes:a", "crash-test", "startled", "a:crash", "lucky:crash"])(
    'of "%s" is any number as likely: it is no fault',
    (label) => {
      const none = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0]));
      evenly(counts(4, label, none), 0.25);
    },
  );

  const labels = fc.oneof(
    fc.constantFrom(...FAULT_KINDS),
    fc.constantFrom(...FAULT_KINDS).map((kind) => `${kind}:x`),
    fc.string(),
  );
  test.prop([fc.integer(), fc.array(fc.tuple(fc.integer({ min: 2, max: 2 ** 31 }), labels))])(
    "is never outside 0 to n - 1, and the same from the same seed",
    (seed, asked) => {
      const given = { crash: 1 };
      const draw = (faults: FaultDraws): number[] => asked.map(([n, label]) => faults.draw(n, label));
      const drawn = draw(rates(seed, given));
      for (const [i, [n]] of asked.entries()) {
        expect(Number.isInteger(drawn[i])).toBe(true);
        expect(drawn[i]).toBeGreaterThanOrEqual(0);
        expect(drawn[i]).toBeLessThan(n);
      }
      expect(draw(rates(seed, given))).toEqual(drawn);
    },
  );
});

describe("given rates", () => {
  test.each<[unknown, string]>([
    [null, "rates"],
    [0.1, "rates"],
    [{ crash: -0.1 }, "rates.crash"],
    [{ crash: 1.1 }, "rates.crash"],
    [{ pause: Number.NaN }, "rates.pause"],
    [{ disk: "often" }, "rates.disk"],
    [{ flood: 0.1 }, "rates.flood"],
  ])("%j are refused at %s", (given, path) => {
    let error: unknown;
    try {
      checkRates(given as FaultRates);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ path });
  });

  test("from 0 to 1 are taken, and kept as they were when taken", () => {
    const given = { crash: 0, drop: 1, delay: 0.5 };
    const taken = checkRates(given);
    given.drop = 0;
    expect(taken).toEqual({ crash: 0, drop: 1, delay: 0.5 });
    expect(checkRates(undefined)).toEqual({});
  });
});
