import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AdaptiveEvent,
  type AdaptiveState,
  decide,
  initial,
} from "../../lib/process/adaptive-machine.js";

const TARGET = 100;

/** A machine that is fed calls of the epoch at hand, unless an event says otherwise. */
function machine(most = 100) {
  let state: AdaptiveState = initial({ targetMs: TARGET, window: 10, most });
  const feed = (event: { readonly epoch?: number } & Partial<AdaptiveEvent>): number => {
    state = decide(state, { epoch: state.epoch, ...event } as AdaptiveEvent)[0];
    return state.limit;
  };
  /** One whole window of successful calls. */
  const window = (tookMs: number, isFull = true): number => {
    for (let i = Math.max(10, state.limit); i > 0; i--) feed({ type: "ended", tookMs, isFull });
    return state.limit;
  };
  return { feed, window, state: () => state };
}

describe("an adaptive limit", () => {
  test("begins with one worker, doubles while calls are quick, and grows by one after its first decrease", () => {
    const { window } = machine();
    expect([1, 2, 3].map(() => window(10))).toEqual([2, 4, 8]);
    expect(window(101)).toBe(4);
    expect([1, 2].map(() => window(79))).toEqual([5, 6]);
  });

  test("stays in its dead band, and falls by a tenth above the target [Y40]", () => {
    const { window } = machine();
    for (const _ of [1, 2, 3, 4, 5]) window(10);
    expect([window(80), window(100), window(90)]).toEqual([32, 32, 32]);
    expect([window(101), window(101)]).toEqual([28, 25]);
    expect(window(79)).toBe(26);
  });

  test("is at least 1, and at most the concurrency of the route", () => {
    const { window } = machine(3);
    expect([window(1), window(1), window(1)]).toEqual([2, 3, 3]);
    expect([window(900), window(900), window(900)]).toEqual([1, 1, 1]);
  });

  test("is decided by the median, so that one slow call changes nothing", () => {
    const { feed, window } = machine();
    window(10);
    for (let i = 0; i < 4; i++) feed({ type: "ended", tookMs: 10_000, isFull: true });
    for (let i = 0; i < 6; i++) feed({ type: "ended", tookMs: 10, isFull: true });
    expect(feed({ type: "ended", tookMs: 10, isFull: true })).toBe(4);
  });

  test("does not count calls that began under another limit", () => {
    const { feed, window } = machine();
    expect(window(10)).toBe(2);
    for (let i = 0; i < 50; i++) feed({ type: "ended", epoch: 0, tookMs: 10_000, isFull: true });
    for (let i = 0; i < 50; i++) feed({ type: "timed out", epoch: 0 });
    expect(window(10)).toBe(4);
  });

  test("falls at a timeout, once in a window", () => {
    const { feed, window } = machine();
    for (const _ of [1, 2, 3, 4, 5]) window(10);
    expect([1, 2, 3, 4].map(() => feed({ type: "timed out" }))).toEqual([16, 16, 16, 16]);
    // The window is 12 quick calls more; behind it a timeout counts at once again.
    for (let i = 0; i < 13; i++) feed({ type: "ended", tookMs: 90, isFull: true });
    expect(feed({ type: "timed out" })).toBe(14);
  });

  test("falls to 1 while all calls take too long [Y41] (bug 29)", () => {
    const { feed, window } = machine();
    for (let i = 0; i < 10; i++) window(10);
    const limits = Array.from({ length: 2_000 }, () => feed({ type: "timed out" }));
    expect(limits.every((limit, i) => limit <= (limits[i - 1] ?? 100))).toBe(true);
    expect(limits.at(-1)).toBe(1);
  });

  test("does not grow while the route is idle or uses less than it has [Y42] (bug 30)", () => {
    const { window } = machine();
    for (const _ of [1, 2]) window(10);
    expect([1, 2, 3, 4].map(() => window(1, false))).toEqual([4, 4, 4, 4]);
  });
});

const events = fc.array(
  fc.oneof(
    fc.record({
      type: fc.constant("ended" as const),
      age: fc.nat({ max: 2 }),
      tookMs: fc.integer({ min: 0, max: 200 }),
      isFull: fc.boolean(),
    }),
    fc.record({ type: fc.constant("timed out" as const), age: fc.nat({ max: 2 }) }),
  ),
  { maxLength: 400 },
);

test("an adaptive limit moves by its rule alone: in bounds, up only when used, and never twice within a window [Y43]", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), events, (most, plan) => {
      const config = { targetMs: TARGET, window: 10, most };
      let state = initial(config);
      // The model of the window: the calls of the epoch since the last judgement.
      let calls: { readonly tookMs: number; readonly isFull: boolean }[] = [];
      let sinceTimeout = Number.POSITIVE_INFINITY;
      for (const { age, ...rest } of plan) {
        const event = { ...rest, epoch: state.epoch - age } as AdaptiveEvent;
        const before = state;
        const [next, effects] = decide(state, event);
        state = next;
        expect(state.limit >= 1 && state.limit <= most).toBe(true);
        expect(effects.map(({ limit }) => limit)).toEqual(state.limit === before.limit ? [] : [state.limit]);
        expect(state.epoch - before.epoch).toBe(effects.length);
        if (age > 0) {
          expect(state.limit).toBe(before.limit);
          continue;
        }
        calls.push(event.type === "ended" ? event : { tookMs: Number.POSITIVE_INFINITY, isFull: false });
        sinceTimeout++;
        const isWhole = calls.length === Math.max(10, before.limit);
        if (event.type === "timed out" && state.limit < before.limit && !isWhole) {
          expect(sinceTimeout).toBeGreaterThan(10);
          sinceTimeout = 0;
        }
        if (state.limit > before.limit) {
          const sorted = calls.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
          expect(isWhole).toBe(true);
          expect(sorted[(sorted.length - 1) >> 1]).toBeLessThan(0.8 * TARGET);
          expect(calls.filter(({ isFull }) => isFull).length * 2).toBeGreaterThanOrEqual(calls.length);
        }
        if (state.samples.length === 0) calls = [];
      }
    }),
  );
});
