// One check: one run at a time, a timeout, a cached answer. The machine against what any caller may rely on.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  decide,
  type Effect,
  type Event,
  initial,
  type State,
} from "../../../lib/service/health/check-machine.js";

const config = { timeoutMs: 100, cacheMs: 50 };

function having(...events: readonly Event[]): readonly [State, readonly Effect[]] {
  let now: readonly [State, readonly Effect[]] = [initial(config), []];
  for (const event of events) now = decide(now[0], event);
  return now;
}
const asked = (at: number): Event => ({ type: "asked", at });
const passed = (at: number): Event => ({ type: "settled", ok: true, error: undefined, at });
const late = (at: number): Event => ({ type: "time-up", at });

describe("a check", () => {
  it("runs when it is asked, and those who ask meanwhile wait for the same run", () => {
    expect(having(asked(0))[1]).toEqual([{ type: "run", timeoutMs: 100 }]);
    expect(having(asked(0), asked(1))[1]).toEqual([]);
  });

  it("gives the same answer for a while, and then runs again", () => {
    const result = { ok: true, error: undefined, at: 5 };
    expect(having(asked(0), passed(5))[1]).toEqual([{ type: "disarm" }, { type: "answer", result }]);
    expect(having(asked(0), passed(5), asked(54))[1]).toEqual([{ type: "answer", result }]);
    expect(having(asked(0), passed(5), asked(55))[1]).toEqual([{ type: "run", timeoutMs: 100 }]);
  });

  it("that hangs has failed when its time is up, and is not run again until it has ended", () => {
    const result = { ok: false, error: "no answer within 100 ms", at: 100 };
    expect(having(asked(0), late(100))[1]).toEqual([{ type: "abort" }, { type: "answer", result }]);
    expect(having(asked(0), late(100), asked(9_999))[1]).toEqual([{ type: "answer", result }]);
    expect(having(asked(0), late(100), asked(9_999), passed(10_000), asked(10_001))[1]).toEqual([
      { type: "run", timeoutMs: 100 },
    ]);
  });
});

const step = fc.record({
  kind: fc.constantFrom("asked", "settled", "time-up"),
  ok: fc.boolean(),
  waited: fc.integer({ min: 0, max: 120 }),
});

test.prop([fc.array(step)])(
  "under any events at most one run is in progress, and who asks is answered [A14]",
  (steps) => {
    let state = initial(config);
    let [at, runs, waiting, armed] = [0, 0, 0, false];
    for (const { kind, ok, waited } of steps) {
      at += waited;
      // Only a run settles, and only an armed timer fires.
      if ((kind === "settled" && runs === 0) || (kind === "time-up" && !armed)) continue;
      if (kind === "asked") waiting++;
      const event: Event =
        kind === "settled"
          ? { type: kind, ok, error: ok ? undefined : "no", at }
          : { type: kind as "asked", at };
      const [next, effects] = decide(state, event);
      state = next;
      if (kind === "settled") runs--;
      if (kind === "time-up") armed = false;
      for (const effect of effects) {
        if (effect.type === "run") {
          runs++;
          armed = true;
        } else if (effect.type === "disarm") armed = false;
        else if (effect.type === "answer") waiting = 0;
      }
      expect(runs).toBeLessThanOrEqual(1);
      // Nobody waits without a timer that ends the wait.
      expect(waiting === 0 || armed).toBe(true);
    }
  },
);
