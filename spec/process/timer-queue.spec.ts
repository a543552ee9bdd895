// The heap of pending timers, against a sorted array.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Timer, TimerQueue } from "../../lib/process/timer-queue.js";
import { proving } from "../support/proof.js";

const nothing = { fire: (): void => undefined };

describe("the timer queue", () => {
  type Step =
    | { readonly op: "add"; readonly deadline: number }
    | { readonly op: "cancel"; readonly which: number }
    | { readonly op: "take"; readonly now: number };
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ op: fc.constant("add" as const), deadline: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ op: fc.constant("cancel" as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("take" as const), now: fc.nat(20) }) },
  );

  test("takes timers in the order of a sorted array: by deadline, then in order of creation", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
        const queue = new TimerQueue();
        const all: Timer[] = [];
        const born = new Map<Timer, number>();
        let model: Timer[] = [];
        const sorted = (): Timer[] =>
          model.toSorted((a, b) => a.deadline - b.deadline || (born.get(a) ?? 0) - (born.get(b) ?? 0));
        for (const one of steps) {
          if (one.op === "add") {
            const timer = queue.add(one.deadline, nothing);
            all.push(timer);
            born.set(timer, born.size);
            model.push(timer);
          } else if (one.op === "cancel" && all.length > 0) {
            const timer = all[one.which % all.length] as Timer;
            expect(queue.cancel(timer)).toBe(model.includes(timer));
            model = model.filter((other) => other !== timer);
          } else if (one.op === "take") {
            const first = sorted().find((timer) => timer.deadline <= one.now);
            expect(queue.take(one.now)).toBe(first);
            model = model.filter((other) => other !== first);
          }
          expect(queue.size).toBe(model.length);
          expect(queue.next).toBe(sorted()[0]?.deadline);
          expect(all.filter((timer) => timer.pending)).toEqual(all.filter((timer) => model.includes(timer)));
        }
        for (const timer of sorted()) expect(queue.take(Number.POSITIVE_INFINITY)).toBe(timer);
        expect(queue.take(Number.POSITIVE_INFINITY)).toBeUndefined();
      }),
      { numRuns: proving ? 100 : 30 },
    );
  });

  test("takes a timer at its deadline, not before", () => {
    const queue = new TimerQueue();
    const timer = queue.add(10, nothing);
    expect(queue.take(9.999)).toBeUndefined();
    expect(queue.take(10)).toBe(timer);
    expect(queue.cancel(timer)).toBe(false);
  });

  const MANY = proving ? 1_000_000 : 200_000;

  test(`holds ${MANY} timers and releases all of them`, () => {
    const queue = new TimerQueue();
    const timers: Timer[] = [];
    for (let i = 0; i < MANY; i++) timers.push(queue.add((i * 7_919) % 1_000_003, nothing));
    expect(queue.size).toBe(MANY);
    expect(queue.next).toBe(0);
    let cancelled = 0;
    for (let i = 0; i < timers.length; i++)
      if (queue.cancel(timers[(i * 611_953) % MANY] as Timer)) cancelled++;
    expect(cancelled).toBe(MANY);
    expect(queue.size).toBe(0);
    expect(queue.next).toBeUndefined();
  });
});
