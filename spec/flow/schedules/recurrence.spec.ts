// Due times, as pure arithmetic.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atTimes, every, latest, type Recurrence } from "../../../lib/flow/schedules/recurrence.js";

const HOUR = 3_600_000;

function all(recurrence: Recurrence, after: number, upTo: number): number[] {
  const times: number[] = [];
  for (let at = recurrence.next(after); at !== undefined && at <= upTo; at = recurrence.next(at))
    times.push(at);
  return times;
}

describe("every", () => {
  it("is due at the multiples since 1970, whenever one asks", () => {
    const hourly = every(HOUR);
    expect([-1, 0, 1, HOUR - 1, HOUR].map((after) => hourly.next(after))).toEqual([
      0,
      HOUR,
      HOUR,
      HOUR,
      2 * HOUR,
    ]);
  });
});

describe("single times", () => {
  it("are due in their order, once", () => {
    expect(all(atTimes([30, 10, 20, 20]), -1, 100)).toEqual([10, 20, 30]);
    expect(atTimes([10]).next(10)).toBeUndefined();
  });
});

describe("the latest due times of a span", () => {
  it("are the last of all due times in it, and tell whether there are earlier ones", () => {
    const recurrence = fc.oneof(
      fc.integer({ min: 1, max: 5_000 }).map(every),
      fc.array(fc.integer({ min: -10_000, max: 10_000 }), { maxLength: 30 }).map(atTimes),
    );
    const time = fc.integer({ min: -10_000, max: 10_000 });
    fc.assert(
      fc.property(recurrence, time, time, fc.integer({ min: 1, max: 10 }), (one, after, upTo, most) => {
        const expected = all(one, after, upTo);
        expect(latest(one, after, upTo, most)).toEqual({
          times: expected.slice(-most),
          cut: expected.length > most,
        });
      }),
    );
  });

  it("cost few steps after a long time", () => {
    let steps = 0;
    const minutely = every(60_000);
    const counted: Recurrence = { next: (after) => ++steps && minutely.next(after) };
    const year = 365 * 24 * HOUR;
    expect(latest(counted, 0, year, 2)).toEqual({ times: [year - 60_000, year], cut: true });
    expect(steps).toBeLessThan(50);
  });
});
