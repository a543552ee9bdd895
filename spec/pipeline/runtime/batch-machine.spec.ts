import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BatchingConfig,
  type BatchingEffect,
  type BatchingEvent,
  decide,
  initial,
} from "../../../lib/pipeline/runtime/batch-machine.js";

const CONFIG: BatchingConfig = {
  size: 3,
  bytes: Number.POSITIVE_INFINITY,
  everyMs: 100,
  mostHeld: 100,
};

/** A gathering of numbers that is fed events one by one. */
function gathering(config: Partial<BatchingConfig> = {}) {
  const state = initial<number>({ ...CONFIG, ...config });
  const feed = (event: BatchingEvent<number>): readonly BatchingEffect<number>[] => decide(state, event)[1];
  const add = (message: number, more: { key?: string; values?: number; bytes?: number } = {}) =>
    feed({
      type: "add",
      key: more.key ?? "",
      item: { message, values: more.values ?? 1, bytes: more.bytes ?? 0 },
    }).flatMap((effect) => (effect.type === "due" ? [effect.messages] : []));
  return { state, feed, add };
}

describe("a batch", () => {
  test("is due when it is full", () => {
    const { add } = gathering();
    expect([add(1), add(2), add(3), add(4)]).toEqual([[], [], [[1, 2, 3]], []]);
  });

  test("is full by the number of its values, and keeps the values of a message together", () => {
    const { add } = gathering();
    expect([add(1, { values: 2 }), add(2, { values: 2 })]).toEqual([[], [[1, 2]]]);
  });

  test("is due before a message that would go beyond its bytes", () => {
    const { add } = gathering({ bytes: 10 });
    expect([add(1, { bytes: 6 }), add(2, { bytes: 6 }), add(3, { bytes: 4 })]).toEqual([[], [[1]], [[2, 3]]]);
  });

  test("is due when its time is over, which begins with its first message", () => {
    const { feed, add } = gathering();
    expect(feed({ type: "add", key: "", item: { message: 1, values: 1, bytes: 0 } })).toEqual([
      { type: "set timer", key: "", ms: 100 },
    ]);
    add(2);
    expect(feed({ type: "late", key: "" })).toEqual([
      { type: "cancel timer", key: "" },
      { type: "due", key: "", messages: [1, 2] },
    ]);
    expect(feed({ type: "late", key: "" })).toEqual([]);
  });

  test("has messages of one key", () => {
    const { feed, add } = gathering();
    add(1, { key: "a" });
    add(2, { key: "b" });
    const due = feed({ type: "flush" }).filter(({ type }) => type === "due");
    expect(due).toEqual([
      { type: "due", key: "a", messages: [1] },
      { type: "due", key: "b", messages: [2] },
    ]);
  });

  test("is due, the oldest first, when more messages are held than may be", () => {
    const { add, state } = gathering({ mostHeld: 2 });
    expect([add(1, { key: "a" }), add(2, { key: "b" }), add(3, { key: "c" })]).toEqual([[], [], [[1]]]);
    expect(state.held).toBe(2);
  });
});

test("every message comes into one batch, in its order, within the limits", () => {
  const config = fc.record({
    size: fc.integer({ min: 1, max: 5 }),
    bytes: fc.constantFrom(10, Number.POSITIVE_INFINITY),
    mostHeld: fc.integer({ min: 1, max: 8 }),
  });
  const events = fc.array(
    fc.record({
      what: fc.constantFrom("add", "add", "add", "late", "flush"),
      key: fc.constantFrom("a", "b"),
      bytes: fc.integer({ min: 0, max: 12 }),
    }),
  );
  fc.assert(
    fc.property(config, events, (given, plan) => {
      const { state, feed } = gathering(given);
      const due = new Map<string, number[]>();
      const added = new Map<string, number[]>();
      const timers = new Set<string>();
      const take = (event: BatchingEvent<number>): void => {
        for (const effect of feed(event)) {
          if (effect.type === "set timer") {
            expect(timers.has(effect.key)).toBe(false);
            timers.add(effect.key);
          } else if (effect.type === "cancel timer") expect(timers.delete(effect.key)).toBe(true);
          else {
            expect(effect.messages.length).toBeGreaterThan(0);
            expect(effect.messages.length).toBeLessThanOrEqual(given.size);
            due.set(effect.key, [...(due.get(effect.key) ?? []), ...effect.messages]);
          }
        }
      };
      for (const [message, { what, key, bytes }] of plan.entries()) {
        if (what === "add") {
          added.set(key, [...(added.get(key) ?? []), message]);
          take({ type: "add", key, item: { message, values: 1, bytes } });
        } else if (what === "late") {
          if (timers.has(key)) take({ type: "late", key });
        } else take({ type: "flush" });
        expect(state.held).toBeLessThanOrEqual(given.mostHeld);
        expect(timers.size).toBe(state.open.size);
      }
      take({ type: "flush" });
      expect(due).toEqual(added);
      expect([state.held, state.open.size, timers.size]).toEqual([0, 0, 0]);
    }),
  );
});
