// A monitor of liveness, against its definition over whole traces.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type Moment,
  type MonitorRule,
  type Violation,
} from "../../../lib/testing/exploration/monitor-machine.js";
import { sized } from "../../support/proof.js";

interface Seen extends Moment {
  readonly trigger: boolean;
  readonly goal: boolean;
}

const START: Moment = { step: 0, at: 0 };

/** What the machine says of a trace that ends, or is cut off. */
function judged(rule: MonitorRule, trace: readonly Seen[], end: "end" | "cut off"): Violation | undefined {
  let state = initial(rule, START);
  for (const { trigger, goal, step, at } of trace) {
    const [next, violation] = decide(state, { type: "step", moment: { step, at }, trigger, goal });
    if (violation !== undefined) return violation;
    state = next;
  }
  const moment = trace.at(-1) ?? START;
  const fairFrom = Math.floor(moment.step / 2);
  return decide(state, end === "end" ? { type: "end", moment } : { type: "cut off", moment, fairFrom })[1];
}

const traces = fc
  .array(fc.record({ ms: fc.nat(2), trigger: fc.boolean(), goal: fc.boolean() }), { maxLength: 12 })
  .map((steps) => {
    let at = 0;
    return steps.map(({ ms, trigger, goal }, index): Seen => {
      at += ms;
      return { step: index + 1, at, trigger, goal };
    });
  });

const limits = fc.constantFrom(0, 1, 3, Number.POSITIVE_INFINITY);

const runs = { numRuns: sized(500) };

describe("a monitor", () => {
  test.prop([traces, limits], runs)(
    "`eventually` holds if a state of the goal is there in time",
    (trace, withinMs) => {
      const holds = trace.some(({ goal, at }) => goal && at <= withinMs);
      expect(judged({ kind: "eventually", withinMs }, trace, "end") === undefined).toBe(holds);
    },
  );

  test.prop([traces, limits], runs)(
    "`leadsTo` holds if each state of the trigger is followed in time by one of the goal, or is one",
    (trace, withinMs) => {
      const holds = trace.every(
        (from, index) =>
          !from.trigger || trace.slice(index).some((to) => to.goal && to.at <= from.at + withinMs),
      );
      expect(judged({ kind: "leadsTo", withinMs }, trace, "end") === undefined).toBe(holds);
    },
  );

  test.prop([traces], runs)(
    "fails in a fair schedule that is cut off if it was due through the whole fair part, and not if it was met there",
    (trace) => {
      const withinMs = Number.POSITIVE_INFINITY;
      const half = Math.floor(trace.length / 2);
      const open = trace.findLastIndex(({ goal }) => goal);
      const due = trace.findIndex(({ trigger }, index) => trigger && index > open);
      const fails = due >= 0 && due + 1 <= half;
      expect(judged({ kind: "leadsTo", withinMs }, trace, "cut off") !== undefined).toBe(fails);
    },
  );

  test.prop([traces], runs)("tells the moment from which on it was due", (trace) => {
    const violation = judged({ kind: "leadsTo", withinMs: Number.POSITIVE_INFINITY }, trace, "end");
    if (violation === undefined) return;
    const met = trace.findLastIndex(({ goal }) => goal);
    const due = trace.find(({ trigger }, index) => trigger && index > met);
    expect(violation).toMatchObject({ type: "never", since: { step: due?.step, at: due?.at } });
  });

  it("is late as soon as more time has passed, not only at the end", () => {
    const waiting: Seen[] = [
      { step: 1, at: 0, trigger: true, goal: false },
      { step: 2, at: 10, trigger: false, goal: false },
      { step: 3, at: 11, trigger: false, goal: true },
    ];
    expect(judged({ kind: "leadsTo", withinMs: 10 }, waiting, "end")).toEqual({
      type: "late",
      since: expect.objectContaining({ step: 1, at: 0 }),
      until: expect.objectContaining({ step: 3, at: 11 }),
    });
    expect(judged({ kind: "leadsTo", withinMs: 11 }, waiting, "end")).toBeUndefined();
  });
});
