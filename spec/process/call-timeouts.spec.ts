// The timeouts of calls, against a sorted array.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CallTimeouts } from "../../lib/process/call-timeouts.js";
import { type Timer, TimerQueue } from "../../lib/process/timer-queue.js";

type Step =
  | { readonly op: "add" | "timer"; readonly length: number }
  | { readonly op: "cancel"; readonly which: number }
  | { readonly op: "pass"; readonly ms: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ op: fc.constant("add" as const), length: fc.nat(24) }) },
  { weight: 5, arbitrary: fc.record({ op: fc.constant("add" as const), length: fc.constant(5) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("timer" as const), length: fc.nat(24) }) },
  { weight: 4, arbitrary: fc.record({ op: fc.constant("cancel" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("pass" as const), ms: fc.nat(6) }) },
);

/** The first of three with the same deadline is cancelled: the second is no call, and comes before the third. */
const SAME_DEADLINE: Step[] = [
  { op: "add", length: 0 },
  { op: "timer", length: 0 },
  { op: "add", length: 0 },
  { op: "cancel", which: 0 },
  { op: "pass", ms: 0 },
];

describe("the timeouts of calls", () => {
  test("fire among all timers by deadline, then in the order of creation, unless they are cancelled", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
        const queue = new TimerQueue();
        const timeouts = new CallTimeouts(queue);
        const made: Timer[] = [];
        const fired: number[] = [];
        let model: { readonly id: number; readonly deadline: number }[] = [];
        let now = 0;
        for (const one of steps) {
          if (one.op === "add" || one.op === "timer") {
            const id = made.length;
            const due = { fire: (): void => void fired.push(id) };
            const deadline = now + one.length;
            made.push(one.op === "add" ? timeouts.add(now, one.length, due) : queue.add(deadline, due));
            model.push({ id, deadline });
          } else if (one.op === "cancel" && made.length > 0) {
            const id = one.which % made.length;
            const timer = made[id] as Timer;
            const isOpen = model.some((open) => open.id === id);
            expect([timer.pending, timeouts.cancel(timer), timer.pending]).toEqual([isOpen, isOpen, false]);
            model = model.filter((open) => open.id !== id);
          } else if (one.op === "pass") {
            now += one.ms;
            const due = model.filter(({ deadline }) => deadline <= now);
            const order = due.sort((a, b) => a.deadline - b.deadline || a.id - b.id).map(({ id }) => id);
            model = model.filter(({ deadline }) => deadline > now);
            fired.length = 0;
            for (;;) {
              timeouts.settle();
              const timer = queue.take(now);
              if (timer === undefined) break;
              timer.due.fire();
            }
            expect(fired).toEqual(order);
          }
          timeouts.settle();
          const first = Math.min(...model.map(({ deadline }) => deadline));
          expect(queue.next ?? Number.POSITIVE_INFINITY).toBe(first);
          expect(queue.size + timeouts.hidden).toBe(model.length);
        }
      }),
      { examples: [[SAME_DEADLINE]] },
    );
  });
});
