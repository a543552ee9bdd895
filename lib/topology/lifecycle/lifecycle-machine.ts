// Decides about the life of a running topology, from start to stop, with pauses and restarts of the whole. Pure.
//
//   starting ─ up ─▶ running ◀─ pause, resume ─▶ paused
//      ▲                │  └───────── stop ─────────┴──▶ draining ─ at rest, or out of time ─▶ stopping ─ down ─▶ ended
//      │             collapsed
//   the wait is over    ▼
//      └──────────── restarting ─ no restart left ─▶ ended
//
// The count of restarts is reset only after the topology has run for `resetAfterMs` of the backoff. A start alone does not
// reset it, so that a crash loop ends.

import { type Backoff, backoffMs, startsAnew } from "../../process/backoff.js";
import { type ExitReason, NORMAL } from "../../process/reason.js";

/**
 * The phase of a topology's life. `starting`: its tasks start. `running`: the spouts emit. `paused`: the spouts do not emit;
 * the bolts go on. `draining`: a stop waits for the tuples that are in flight. `stopping`: the tasks end. `restarting`: the
 * topology waits to start again as a whole. `ended`: the topology has ended.
 */
export type Phase = "starting" | "running" | "paused" | "draining" | "stopping" | "restarting" | "ended";

export interface RestartRule {
  /** How many restarts of the whole topology are allowed. */
  readonly restarts: number;
  readonly backoff: Backoff;
}

export interface LifecycleState {
  readonly phase: Phase;
  readonly rule: RestartRule;
  /** Restarts since the topology last ran for long enough. */
  readonly attempts: number;
  /** When it was up last. */
  readonly upAt: number;
  /** It has been up at least once, and its starter was notified. */
  readonly known: boolean;
  /** It is to be paused when it is up again. */
  readonly paused: boolean;
  /** The exit reason of a stop. */
  readonly end: ExitReason;
}

export type LifecycleEvent =
  /** All tasks have started. */
  | { readonly type: "up"; readonly at: number }
  /** The tree of supervisors has ended, or could not start. */
  | { readonly type: "down"; readonly reason: ExitReason; readonly at: number; readonly roll: number }
  | { readonly type: "pause" | "resume" }
  /** Drain for at most this time, and end with this reason. */
  | { readonly type: "stop"; readonly drainMs: number; readonly end: ExitReason }
  /** The drain is done: nothing is in flight. */
  | { readonly type: "drained" }
  | { readonly type: "drainOver" }
  /** The wait before a restart is over. */
  | { readonly type: "again" };

export type LifecycleEffect =
  /** Start the tree of supervisors. */
  | { readonly type: "start" }
  /** Notify the starter. */
  | { readonly type: "started" }
  /** Activate bolts and, unless the topology is paused, spouts. */
  | { readonly type: "activate"; readonly flowing: boolean }
  | { readonly type: "pause" | "resume" }
  /** Deactivate the spouts and wait until nothing is in flight. `drainOver` follows after this time. */
  | { readonly type: "drain"; readonly ms: number }
  /** Stop the tree of supervisors. */
  | { readonly type: "halt" }
  | { readonly type: "wait"; readonly ms: number; readonly reason: ExitReason }
  | { readonly type: "exit"; readonly reason: ExitReason };

type LifecycleStep = readonly [LifecycleState, readonly LifecycleEffect[]];

export function initial(rule: RestartRule): LifecycleState {
  return { phase: "starting", rule, attempts: 0, upAt: 0, known: false, paused: false, end: NORMAL };
}

export function decide(state: LifecycleState, event: LifecycleEvent): LifecycleStep {
  switch (event.type) {
    case "up":
      return up(state, event.at);
    case "down":
      return down(state, event);
    case "pause":
    case "resume":
      return pauseOrResume(state, event.type === "pause");
    case "stop":
      return stop(state, event);
    case "drained":
    case "drainOver":
      return state.phase === "draining" ? [{ ...state, phase: "stopping" }, [{ type: "halt" }]] : [state, []];
    case "again":
      return state.phase === "restarting"
        ? [{ ...state, phase: "starting" }, [{ type: "start" }]]
        : [state, []];
    default:
      return event satisfies never;
  }
}

function up(state: LifecycleState, at: number): LifecycleStep {
  // A stop came while the topology started.
  if (state.phase !== "starting") return [state, []];
  const phase = state.paused ? "paused" : "running";
  const effects: LifecycleEffect[] = [{ type: "activate", flowing: !state.paused }];
  if (!state.known) effects.push({ type: "started" });
  return [{ ...state, phase, upAt: at, known: true }, effects];
}

function down(state: LifecycleState, event: LifecycleEvent & { readonly type: "down" }): LifecycleStep {
  const ended: LifecycleState = { ...state, phase: "ended" };
  switch (state.phase) {
    case "ended":
    case "restarting":
      return [state, []];
    case "stopping":
      return [ended, [{ type: "exit", reason: state.end }]];
    case "draining":
      return [ended, [{ type: "exit", reason: event.reason }]];
    default: {
      const { rule, known, upAt } = state;
      const calm = state.phase !== "starting" && startsAnew(rule.backoff, event.at - upAt);
      const attempts = (calm ? 0 : state.attempts) + 1;
      if (!known || attempts > rule.restarts) return [ended, [{ type: "exit", reason: event.reason }]];
      const ms = backoffMs(rule.backoff, attempts, event.roll);
      return [{ ...state, phase: "restarting", attempts }, [{ type: "wait", ms, reason: event.reason }]];
    }
  }
}

function pauseOrResume(state: LifecycleState, paused: boolean): LifecycleStep {
  if (state.phase === "running" && paused)
    return [{ ...state, phase: "paused", paused }, [{ type: "pause" }]];
  if (state.phase === "paused" && !paused)
    return [{ ...state, phase: "running", paused }, [{ type: "resume" }]];
  if (state.phase === "starting" || state.phase === "restarting") return [{ ...state, paused }, []];
  return [state, []];
}

function stop(
  state: LifecycleState,
  { drainMs, end }: LifecycleEvent & { readonly type: "stop" },
): LifecycleStep {
  switch (state.phase) {
    case "ended":
    case "stopping":
      return [state, []];
    case "restarting":
      return [{ ...state, phase: "ended", end }, [{ type: "exit", reason: end }]];
    case "starting":
      return [{ ...state, phase: "stopping", end }, [{ type: "halt" }]];
    case "draining":
      return drainMs === 0 ? [{ ...state, phase: "stopping", end }, [{ type: "halt" }]] : [state, []];
    default:
      if (drainMs === 0) return [{ ...state, phase: "stopping", end }, [{ type: "halt" }]];
      return [{ ...state, phase: "draining", end }, [{ type: "drain", ms: drainMs }]];
  }
}
