// What is measured of a route, and when: nothing beyond two counters unless somebody looks.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Publication } from "../../../lib/pipeline/ledger/ledger.js";
import type { CallRecord } from "../../../lib/pipeline/ledger/lineage.js";
import { initial, type ProcessorState } from "../../../lib/pipeline/runtime/processor-machine.js";
import { routeFigures } from "../../../lib/pipeline/runtime/route-figures.js";
import { METER_LIMITS, RouteMeter } from "../../../lib/pipeline/runtime/route-meter.js";

const call = (tookMs: number): CallRecord => ({
  adapter: "a",
  status: "completed",
  startedMs: 0,
  tookMs,
  gave: 1,
});
const child = (queue: string): Publication => ({ id: "1.1", queue, value: 1, key: undefined });

describe("the meter of a route", () => {
  test("counts, and measures nothing before the first look [N1559]", () => {
    const meter = new RouteMeter();
    meter.settled(3, [call(5)], [child("out")]);
    meter.gaveUp();
    expect(meter.look(0)).toEqual({
      ...{ done: 3, failed: 1, perS: undefined, p50Ms: undefined, p99Ms: undefined },
      to: new Map(),
    });
  });

  test("measures rates, latencies and where results go between looks [N1559]", () => {
    const meter = new RouteMeter();
    meter.look(0);
    for (let i = 1; i <= 100; i++)
      meter.settled(1, [call(i / 2), call(i / 2)], [child("a"), ...(i % 2 === 0 ? [child("b")] : [])]);
    meter.gaveUp();
    const { done, failed, perS, p50Ms, p99Ms, to } = meter.look(2_000);
    expect({ done, failed, perS, p50Ms, p99Ms }).toEqual({
      ...{ done: 100, failed: 1, perS: 50.5, p50Ms: 50, p99Ms: 99 },
    });
    expect([to.get("a"), to.get("b")]).toEqual([50.5, 25.25]);
  });

  test("stops by itself after 100,000 attempts, and a look of long ago says nothing about now [N1559]", () => {
    const meter = new RouteMeter();
    meter.look(0);
    for (let i = 0; i < METER_LIMITS.attempts; i++) meter.settled(1, [call(1)], []);
    for (let i = 0; i < 600; i++) meter.settled(1, [call(1_000)], []);
    expect(meter.look(1_000)).toMatchObject({ done: 100_600, perS: 100_600, p99Ms: 1 });
    meter.settled(1, [call(7)], []);
    expect(meter.look(60_000)).toMatchObject({ perS: undefined, p50Ms: undefined });
    meter.settled(1, [call(9)], []);
    expect(meter.look(61_000)).toMatchObject({ perS: 1, p50Ms: 9 });
  });

  test("gives percentiles of the last attempts that some attempt had, and rates that are no less than 0, for any looks [N1559]", () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant("settled" as const), tookMs: fc.nat(1_000) }),
      fc.record({ type: fc.constant("look" as const), afterMs: fc.nat(15_000) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const meter = new RouteMeter();
        const took = new Set<number>();
        let [now, done] = [0, 0];
        for (const one of steps) {
          if (one.type === "settled") {
            meter.settled(1, [call(one.tookMs)], [child("out")]);
            took.add(one.tookMs);
            done++;
            continue;
          }
          now += one.afterMs;
          const found = meter.look(now);
          expect(found.done).toBe(done);
          const { p50Ms = 0, p99Ms = 0, perS = 0 } = found;
          if (found.p50Ms !== undefined) expect([took.has(p50Ms), took.has(p99Ms)]).toEqual([true, true]);
          expect([p50Ms <= p99Ms, perS >= 0, [...found.to.values()].every((rate) => rate >= 0)]).toEqual([
            ...[true, true, true],
          ]);
        }
      }),
    );
  });
});

describe("the gates of a route", () => {
  const plan = { name: "check", policy: { fanOut: 2 } } as Parameters<typeof routeFigures>[0];
  const rates = new RouteMeter().look(0);
  const quiet = { held: 0, isFull: false, breakers: [], rates };
  const message = { id: "1.1", queue: "in", value: 1, key: undefined, attempts: 0, errors: [] };
  const state = (more: Partial<ProcessorState> = {}): ProcessorState => ({
    ...initial({ concurrency: 1, prefetch: 10, fanOut: 2 }),
    buffer: [message, message],
    ...more,
  });
  const closedIn = (of: ProcessorState, more: Partial<typeof quiet> = {}) =>
    routeFigures(plan, of, { ...quiet, ...more }).gates.filter((gate) => gate.state === "closed");

  test("are open where nothing stops the workers, and say who stops them otherwise, and how many wait [N1559]", () => {
    expect(closedIn(state())).toEqual([]);
    expect(closedIn(state({ phase: "paused" }))).toEqual([{ name: "paused", state: "closed", waiting: 2 }]);
    expect(closedIn(state(), { isFull: true })).toMatchObject([{ name: "in flight", waiting: 2 }]);
    const busy = new Map([[0, { type: "working", messages: [message], done: 0 } as const]]);
    expect(closedIn(state({ workers: busy, inWork: 1 }))).toMatchObject([{ name: "concurrency" }]);
    expect(closedIn(state({ above: new Set(["z", "a"]) }))).toMatchObject([
      { name: "high water", by: ["a", "z"] },
    ]);
    expect(closedIn(state({ publishing: 2 }))).toMatchObject([{ name: "fan-out" }]);
    const breakers = [
      { name: "mail", state: "open" },
      { name: "log", state: "closed" },
    ] as never;
    expect(closedIn(state({ admits: 0 }), { breakers })).toMatchObject([{ name: "breakers", by: ["mail"] }]);
  });
});
