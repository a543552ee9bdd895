// Rates out of looks at counters, and the bottleneck that figures show, or none.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bottleneckOf, type Evidence } from "../../lib/admin/system/bottleneck.js";
import type { GraphComponent } from "../../lib/admin/system/graph-operations.js";
import {
  LEAST_MS,
  LOOKS,
  type Look,
  type Looks,
  looked,
  perSecond,
  RATE_MS,
  STALE_MS,
} from "../../lib/admin/system/graph-rates.js";

const look = (at: number, n: number): Look => ({ at, counters: new Map([["n", n]]) });

/** The rate at each of some looks. */
function rates(all: readonly Look[]): readonly (number | undefined)[] {
  let looks: Looks = [];
  return all.map((one) => {
    const next = looked(looks, one);
    looks = next.looks;
    return perSecond("n", one, next.since);
  });
}

describe("a rate", () => {
  test("is unknown at the first look, and over some seconds afterwards [N1540]", () => {
    const steady = Array.from({ length: 30 }, (_, i) => look(i * 500, i * 5));
    expect(rates(steady).map((rate) => rate ?? 0)).toEqual([0, ...Array.from({ length: 29 }, () => 10)]);
    // A burst is spread over the whole time, and is not a peak at one look.
    const burst = rates(steady.map(({ at }, i) => look(at, i < 20 ? 0 : 100)));
    expect(burst.slice(20)).toEqual(Array.from({ length: 10 }, () => 100_000 / RATE_MS));
  });

  test("begins anew after a long pause, and when a counter is lower: it is of another run [N1540]", () => {
    expect(rates([look(0, 0), look(1_000, 10), look(1_001 + STALE_MS, 500)])[2]).toBeUndefined();
    expect(rates([look(0, 100), look(1_000, 10), look(2_000, 20)])).toEqual([undefined, undefined, 10]);
  });

  test("is right for any counters, and the looks that are kept are bounded [N1540]", () => {
    const step = fc.record({ ms: fc.integer({ min: 0, max: 2_000 }), n: fc.nat(1_000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const all: Look[] = [];
        let looks: Looks = [];
        for (const { ms, n } of steps) {
          const last = all.at(-1) ?? look(0, 0);
          const now = look(last.at + ms, (last.counters.get("n") as number) + n);
          const next = looked(looks, now);
          looks = next.looks;
          expect(looks.length).toBeLessThanOrEqual(LOOKS);
          if (next.since !== undefined) {
            expect(all).toContain(next.since);
            expect(now.at - next.since.at).toBeGreaterThanOrEqual(LEAST_MS);
            const counted = (now.counters.get("n") as number) - (next.since.counters.get("n") as number);
            const rate = perSecond("n", now, next.since) as number;
            expect((rate * (now.at - next.since.at)) / 1_000).toBeCloseTo(counted, 6);
          }
          all.push(now);
        }
      }),
    );
  });
});

const NONE: Evidence = { overMs: 5_000, mayPend: new Map(), isFull: new Set() };
const part = (name: string, more: Partial<GraphComponent> = {}): GraphComponent => ({
  name,
  kind: "bolt",
  ...{ tasks: 1, executors: 1, executed: 0, emitted: 0, acked: 0, failed: 0 },
  ...{ pending: 0, waiting: 0, errors: 0, restarts: 0 },
  ...more,
});
const chain = [
  { from: "source", to: "split" },
  { from: "split", to: "count" },
];

describe("the bottleneck", () => {
  test("is the bolt that is at its limit while tuples wait for it, with both figures [N1541]", () => {
    const busy = part("count", { capacity: 0.97, waiting: 12 });
    const found = bottleneckOf([part("split", { capacity: 0.9, waiting: 3 }), busy], chain, NONE);
    expect(found).toEqual({
      component: "count",
      why: "its busiest task is at work 97 % of the time, and 12 tuples wait for its tasks",
    });
  });

  test("is none without evidence: a busy bolt for which none wait, waiting tuples alone, or the first look [N1541]", () => {
    expect(bottleneckOf([part("count", { capacity: 1 })], chain, NONE)).toBeUndefined();
    expect(bottleneckOf([part("count", { waiting: 50, executedPerS: 9 })], chain, NONE)).toBeUndefined();
    const first = { ...NONE, overMs: undefined };
    expect(bottleneckOf([part("count", { waiting: 50, executedPerS: 0 })], chain, first)).toBeUndefined();
    expect(bottleneckOf([], [], NONE)).toBeUndefined();
  });

  test("is the last of the bolts that take nothing, since those before it wait for it [N1541]", () => {
    const stuck = [
      part("split", { waiting: 99, executedPerS: 0 }),
      part("count", { waiting: 1, executedPerS: 0 }),
    ];
    expect(bottleneckOf(stuck, chain, NONE)).toEqual({
      component: "count",
      why: "1 tuple waits for its tasks, which took none in the last 5 s",
    });
    const circle = [...chain, { from: "count", to: "split" }];
    expect(bottleneckOf(stuck, circle, NONE)?.component).toBe("split");
    expect(bottleneckOf(stuck, chain, { ...NONE, overMs: 1_000 })).toBeUndefined();
  });

  test("is a spout that may have no more tuples pending, if no bolt has work that waits [N1541]", () => {
    const source = part("source", { kind: "spout", pending: 128 });
    const full = { ...NONE, mayPend: new Map([["source", 128]]), isFull: new Set(["source"]) };
    expect(bottleneckOf([source, part("split")], chain, full)).toMatchObject({ component: "source" });
    expect(bottleneckOf([source, part("split", { waiting: 1 })], chain, full)).toBeUndefined();
    expect(bottleneckOf([source, part("split")], chain, NONE)).toBeUndefined();
  });
});
