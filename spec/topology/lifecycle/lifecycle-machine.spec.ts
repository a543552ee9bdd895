// The life of a topology as a machine: what happened in, what is to be done out.

import { fc, test } from "@fast-check/vitest";
import type { ExitReason } from "signalbox";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type LifecycleEffect,
  type LifecycleEvent,
  type LifecycleState,
} from "../../../lib/topology/lifecycle/lifecycle-machine.js";

const NORMAL: ExitReason = { type: "normal" };
const CRASH: ExitReason = { type: "crash", error: new Error("down") };
const rule = { restarts: 2, backoff: { minMs: 1_000, maxMs: 30_000, jitter: 0 } };

const up = (at = 0): LifecycleEvent => ({ type: "up", at });
const down = (at = 0): LifecycleEvent => ({ type: "down", reason: CRASH, at, roll: 0.5 });
const stop = (drainMs = 5_000): LifecycleEvent => ({ type: "stop", drainMs, end: NORMAL });

/** Effects in short, of one event after the other. */
function told(events: readonly LifecycleEvent[], from: LifecycleState = initial(rule)): readonly string[] {
  let state = from;
  return events.map((event) => {
    const [next, effects] = decide(state, event);
    state = next;
    return `${effects.map(short).join(", ")} → ${state.phase}`;
  });
}

function short(effect: LifecycleEffect): string {
  switch (effect.type) {
    case "activate":
      return effect.flowing ? "activate" : "activate bolts";
    case "drain":
      return `drain ${effect.ms}`;
    case "wait":
      return `wait ${effect.ms}`;
    case "exit":
      return `exit ${effect.reason.type}`;
    default:
      return effect.type;
  }
}

describe("a topology's life", () => {
  it("starts, runs, drains and ends", () => {
    expect(told([up(), stop(), { type: "drained" }, down()])).toEqual([
      "activate, started → running",
      "drain 5000 → draining",
      "halt → stopping",
      "exit normal → ended",
    ]);
  });

  it("drains no longer than it may", () => {
    expect(told([up(), stop(), { type: "drainOver" }])[2]).toBe("halt → stopping");
    expect(told([up(), stop(0)])[1]).toBe("halt → stopping");
    expect(told([up(), stop(), stop(0)])[2]).toBe("halt → stopping");
    expect(told([up(), stop(), stop(99)])[2]).toBe(" → draining");
  });

  it("pauses and resumes, and drains also in a pause", () => {
    expect(
      told([up(), { type: "pause" }, { type: "pause" }, { type: "resume" }, { type: "resume" }]),
    ).toEqual([
      "activate, started → running",
      "pause → paused",
      " → paused",
      "resume → running",
      " → running",
    ]);
    expect(told([up(), { type: "pause" }, stop()])[2]).toBe("drain 5000 → draining");
  });

  it("starts again after waits, and notifies its starter once", () => {
    expect(told([up(), down(), { type: "again" }, up(), down(), { type: "again" }, up(), down()])).toEqual([
      "activate, started → running",
      "wait 1000 → restarting",
      "start → starting",
      "activate → running",
      "wait 2000 → restarting",
      "start → starting",
      "activate → running",
      "exit crash → ended",
    ]);
  });

  it("is paused after a restart when it was paused before", () => {
    expect(told([up(), { type: "pause" }, down(), { type: "again" }, up()]).at(-1)).toBe(
      "activate bolts → paused",
    );
  });

  it("has all its restarts again when it has run for as long as the longest wait", () => {
    const long = [up(0), down(30_000), { type: "again" }, up(31_000), down(61_000)] as const;
    expect(told(long).at(-1)).toBe("wait 1000 → restarting");
    const short = [up(0), down(30_000), { type: "again" }, up(31_000), down(60_999)] as const;
    expect(told(short).at(-1)).toBe("wait 2000 → restarting");
  });

  it("counts a restart that does not come up", () => {
    expect(told([up(), down(), { type: "again" }, down(), { type: "again" }, down()])).toEqual([
      "activate, started → running",
      "wait 1000 → restarting",
      "start → starting",
      "wait 2000 → restarting",
      "start → starting",
      "exit crash → ended",
    ]);
  });

  it("ends at once when its first start fails", () => {
    expect(told([down()])).toEqual(["exit crash → ended"]);
  });

  it("can be stopped while it starts and while it waits", () => {
    expect(told([stop(), up(), down()])).toEqual(["halt → stopping", " → stopping", "exit normal → ended"]);
    expect(told([up(), down(), stop(), { type: "again" }])).toEqual([
      "activate, started → running",
      "wait 1000 → restarting",
      "exit normal → ended",
      " → ended",
    ]);
  });

  it("ends with the crash when it collapses while it drains", () => {
    expect(told([up(), stop(), down()])).toEqual([
      "activate, started → running",
      "drain 5000 → draining",
      "exit crash → ended",
    ]);
  });
});

// ── properties ─────────────────────────────────────────────────────────────────────────────────────────────────────

const event = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("up" as const, "down" as const) },
  { weight: 3, arbitrary: fc.constantFrom("again" as const, "drained" as const, "drainOver" as const) },
  { weight: 2, arbitrary: fc.constantFrom("pause" as const, "resume" as const) },
  { weight: 1, arbitrary: fc.constantFrom("stop" as const, "stop now" as const) },
);
const history = fc.array(fc.record({ kind: event, after: fc.nat({ max: 40_000 }) }), { maxLength: 60 });

/** The events, each at its time. */
function timed(
  steps: readonly { readonly kind: string; readonly after: number }[],
): readonly LifecycleEvent[] {
  let at = 0;
  return steps.map(({ kind, after }): LifecycleEvent => {
    at += after;
    if (kind === "up") return up(at);
    if (kind === "down") return down(at);
    if (kind === "stop" || kind === "stop now") return stop(kind === "stop" ? 5_000 : 0);
    return { type: kind } as LifecycleEvent;
  });
}

describe("any history", () => {
  test.prop([history, fc.nat({ max: 3 })], { numRuns: 200 })(
    "reports one end and one start, and nothing after the end",
    (steps, restarts) => {
      let state = initial({ ...rule, restarts });
      const done: LifecycleEffect[] = [];
      for (const one of timed(steps)) {
        const ended = state.phase === "ended";
        const [next, effects] = decide(state, one);
        if (ended) expect([next, effects]).toEqual([state, []]);
        state = next;
        done.push(...effects);
      }
      const count = (type: LifecycleEffect["type"]): number =>
        done.filter((effect) => effect.type === type).length;
      expect(count("exit")).toBe(state.phase === "ended" ? 1 : 0);
      expect(count("started")).toBeLessThanOrEqual(1);
      expect(count("halt")).toBeLessThanOrEqual(1);
      // Every wait leads to one start at most, and every start comes after a wait.
      expect(count("wait") - count("start")).toBe(state.phase === "restarting" || abandoned(done) ? 1 : 0);
    },
  );

  test.prop([fc.array(fc.nat({ max: 29_999 }), { maxLength: 20 }), fc.nat({ max: 6 })])(
    "without a calm stretch has no more restarts than are allowed, however it goes",
    (stretches, restarts) => {
      let state = initial({ ...rule, restarts });
      let [at, starts] = [0, 0];
      const tell = (one: LifecycleEvent): void => {
        const [next, effects] = decide(state, one);
        state = next;
        starts += effects.filter(({ type }) => type === "start").length;
      };
      for (const stretch of stretches) {
        tell(up(at));
        at += stretch;
        tell(down(at));
        tell({ type: "again" });
      }
      expect(starts).toBe(Math.min(stretches.length, restarts));
      expect(state.phase).toBe(stretches.length > restarts ? "ended" : "starting");
    },
  );
});

/** Whether the last thing was the end of one that waited. */
function abandoned(done: readonly LifecycleEffect[]): boolean {
  return done.at(-1)?.type === "exit" && done.at(-2)?.type === "wait";
}
