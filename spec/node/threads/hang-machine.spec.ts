// When a thread counts as one that hangs.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, initial, LOOKS } from "../../../lib/node/threads/hang-machine.js";

/** Which of the looks find that the thread hangs. */
function looks(counts: readonly number[]): boolean[] {
  let state = initial;
  return counts.map((beats) => {
    const [next, hangs] = decide(state, beats);
    state = next;
    return hangs;
  });
}

describe("a thread hangs", () => {
  it("after so many looks in a row that found nothing new, and not before [N1098]", () => {
    expect(looks([1, 2, 2, 2, 2, 2])).toEqual([false, false, false, false, false, true]);
    expect(looks([1, 1, 1, 1, 2, 2, 2, 2, 2])).toEqual([...Array(8).fill(false), true]);
  });

  it("never, while each few looks find something new, however slow the clock is", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(LOOKS - 1), { minLength: 1 }), (pauses) => {
        let beats = 0;
        const counts = pauses.flatMap((pause) => [++beats, ...Array<number>(pause).fill(beats)]);
        expect(looks(counts)).not.toContain(true);
      }),
    );
  });
});
