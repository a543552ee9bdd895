// Which due times of a schedule are settled, as spans of time.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { every } from "../../../lib/flow/schedules/recurrence.js";
import {
  MOST_SPANS,
  open,
  type Settled,
  settledBefore,
  withSpan,
} from "../../../lib/flow/schedules/settled.js";

const holds = (settled: Settled, at: number): boolean => settled.some(([from, to]) => from < at && at <= to);

describe("settled spans", () => {
  it("hold each time that was put into them, in order, apart, and few [U320]", () => {
    const spans = fc.array(fc.tuple(fc.nat({ max: 500 }), fc.nat({ max: 20 })), { maxLength: 120 });
    fc.assert(
      fc.property(spans, fc.nat({ max: 500 }), (given, now) => {
        let settled: Settled = [];
        for (const [after, length] of given) settled = withSpan(settled, [after, after + length], now);
        for (const [after, length] of given)
          for (let at = after + 1; at <= after + length; at++) expect(holds(settled, at)).toBe(true);
        for (const [i, [after, upTo]] of settled.entries()) {
          expect(after).toBeLessThan(upTo);
          expect(after).toBeGreaterThan(settled[i - 1]?.[1] ?? Number.NEGATIVE_INFINITY);
        }
        expect(settled.length).toBeLessThanOrEqual(MOST_SPANS);
      }),
    );
  });

  it("leave no gap that lies ahead while there is one that has passed", () => {
    let settled: Settled = [];
    for (let i = 0; i <= MOST_SPANS; i++) settled = withSpan(settled, [i * 10, i * 10 + 5], 100);
    expect(holds(settled, 8)).toBe(true);
    expect(holds(settled, 208)).toBe(false);
  });

  it("hide their due times, and say up to where a clock that is set back has settled all", () => {
    const settled: Settled = [
      [0, 30],
      [50, 70],
    ];
    const due = open(every(10), settled);
    expect([0, 30, 40, 65].map((after) => due.next(after))).toEqual([40, 40, 50, 80]);
    expect([0, 20, 40, 60, 90].map((now) => settledBefore(settled, now))).toEqual([
      undefined,
      20,
      30,
      60,
      70,
    ]);
  });
});
