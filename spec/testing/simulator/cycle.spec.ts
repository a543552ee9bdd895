// What repeats at the end of a list, against the definition written out.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { type Cycle, findCycle } from "../../../lib/testing/simulator/cycle.js";
import { sized } from "../../support/proof.js";

/** Tries every period and every start. */
function slow(list: readonly number[]): Cycle | undefined {
  let best: Cycle | undefined;
  for (let period = 1; period * 3 <= list.length; period++) {
    let start = list.length - period;
    while (start > 0 && list[start - 1] === list[start - 1 + period]) start--;
    const covered = list.length - start;
    if (covered < 3 * period || covered < list.length / 4) continue;
    if (best === undefined || start < best.start)
      best = { start, period, times: Math.floor(covered / period) };
  }
  return best;
}

describe("the cycle at the end of a list", () => {
  it("is the shortest part that repeats, with the step at which that begins", () => {
    expect(findCycle([9, 8, 1, 2, 1, 2, 1, 2, 1])).toEqual({ start: 2, period: 2, times: 3 });
    expect(findCycle(["a", "b", "b", "b"])).toEqual({ start: 1, period: 1, times: 3 });
  });

  it("is not the short repetition within a longer one", () => {
    const round = [1, 2, 2, 2];
    expect(findCycle([...round, ...round, ...round, ...round])).toEqual({ start: 0, period: 4, times: 4 });
  });

  it("needs three rounds, and a quarter of the list", () => {
    expect(findCycle([1, 2, 1, 2])).toBeUndefined();
    expect(findCycle([...Array.from({ length: 10 }, (_, i) => i), 17, 17, 17])).toBeUndefined();
    expect(findCycle([])).toBeUndefined();
    expect(findCycle([1])).toBeUndefined();
  });

  test.prop([fc.array(fc.nat(1), { maxLength: 5 }), fc.array(fc.nat(2), { maxLength: 6 }), fc.nat(30)], {
    numRuns: sized(300),
  })("is what the definition says", (before, round, length) => {
    const tail = Array.from({ length }, (_, i) => round[i % Math.max(1, round.length)] ?? 0);
    const list = [...before, ...tail];
    expect(findCycle(list)).toEqual(slow(list));
  });

  it("is found in a long list at once", () => {
    const list = Array.from({ length: 300_000 }, (_, i) => (i < 100_000 ? i : i % 7));
    expect(findCycle(list)).toEqual({ start: 100_000, period: 7, times: 28_571 });
  });
});
