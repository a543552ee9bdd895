// The waits of exponential backoff, as pure arithmetic.

import fc from "fast-check";
import { type Backoff, OptionError } from "signalbox";
import { describe, expect, it } from "vitest";
import { backoffMs, checkBackoff, startsAnew } from "../../lib/process/backoff.js";

const MIDDLE = 0.5;
const backoffs: fc.Arbitrary<Backoff> = fc
  .record({
    minMs: fc.integer({ min: 1, max: 10_000 }),
    more: fc.integer({ min: 0, max: 1_000_000 }),
    factor: fc.double({ min: 1, max: 1e300, noNaN: true }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ minMs, more, factor, jitter }) => ({ minMs, maxMs: minMs + more, factor, jitter }));

describe("a wait", () => {
  it("doubles from min to max unless another factor is given", () => {
    const waits = (backoff: Backoff): number[] => [1, 2, 3, 4, 5].map((n) => backoffMs(backoff, n, MIDDLE));
    expect(waits({ minMs: 100, maxMs: 1_000 })).toEqual([100, 200, 400, 800, 1_000]);
    expect(waits({ minMs: 100, maxMs: 1_000, factor: 3 })).toEqual([100, 300, 900, 1_000, 1_000]);
    expect(waits({ minMs: 100, maxMs: 1_000, factor: 1 })).toEqual([100, 100, 100, 100, 100]);
  });

  it("is shortened and lengthened by a tenth at most unless another jitter is given", () => {
    const wait = (roll: number, jitter?: number): number =>
      backoffMs({ minMs: 100, maxMs: 1_000, ...(jitter === undefined ? {} : { jitter }) }, 1, roll);
    expect([wait(0), wait(0.75), wait(1)].map(Math.round)).toEqual([90, 105, 110]);
    expect([wait(0, 1), wait(0.75, 1), wait(1, 1)]).toEqual([0, 150, 200]);
    expect([wait(0, 0), wait(1, 0)]).toEqual([100, 100]);
  });

  it("is a number within its bounds at every attempt, and without jitter never shorter than the wait before", () => {
    const roll = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(backoffs, fc.integer({ min: 1, max: 1e9 }), roll, (backoff, attempt, roll) => {
        const { minMs: min, maxMs: max, jitter = 0.1 } = backoff;
        const wait = backoffMs(backoff, attempt, roll);
        expect(wait).toBeGreaterThanOrEqual(min * (1 - jitter) - 1e-6);
        expect(wait).toBeLessThanOrEqual(max * (1 + jitter) + 1e-6);
        const plain = { ...backoff, jitter: 0 };
        expect(backoffMs(plain, attempt + 1, roll)).toBeGreaterThanOrEqual(backoffMs(plain, attempt, roll));
      }),
    );
  });
});

describe("`resetAfterMs`", () => {
  it("is by default the longest wait", () => {
    expect([startsAnew({ minMs: 1, maxMs: 50 }, 49), startsAnew({ minMs: 1, maxMs: 50 }, 50)]).toEqual([
      false,
      true,
    ]);
    const given = { minMs: 1, maxMs: 50, resetAfterMs: 10 };
    expect([startsAnew(given, 9), startsAnew(given, 10)]).toEqual([false, true]);
  });
});

describe("an invalid backoff", () => {
  it.each<[unknown, string]>([
    [undefined, "retry"],
    [null, "retry"],
    [100, "retry"],
    [{}, "retry.minMs"],
    [{ minMs: 0, maxMs: 100 }, "retry.minMs"],
    [{ minMs: Number.POSITIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY }, "retry.minMs"],
    [{ minMs: 10, maxMs: 9 }, "retry.maxMs"],
    [{ minMs: 10, maxMs: Number.POSITIVE_INFINITY }, "retry.maxMs"],
    [{ minMs: 10, maxMs: 10, factor: 0.5 }, "retry.factor"],
    [{ minMs: 10, maxMs: 10, factor: Number.POSITIVE_INFINITY }, "retry.factor"],
    [{ minMs: 10, maxMs: 10, jitter: -0.1 }, "retry.jitter"],
    [{ minMs: 10, maxMs: 10, jitter: 1.1 }, "retry.jitter"],
    [{ minMs: 10, maxMs: 10, resetAfterMs: -1 }, "retry.resetAfterMs"],
  ])("%j is refused at %s", (backoff, path) => {
    let error: unknown;
    try {
      checkBackoff("retry", backoff as Backoff);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ path });
  });

  it("is told apart from a valid backoff", () => {
    const backoff = { minMs: 1, maxMs: 1, factor: 1, jitter: 0, resetAfterMs: 0 };
    expect(checkBackoff("retry", backoff)).toBe(backoff);
  });
});
