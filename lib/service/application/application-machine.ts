// The life of a service as a pure state machine: its start, and its end in order, in a hurry or by force.
//
//     configuring -> starting -> running -> draining -> stopping -> stopped
//
// While draining the service is not ready any more, but its tree still runs: load balancers get time to notice. While stopping the
// tree stops in its order. One limit holds for both. Each phase may end early: by a failure, by the limit, or by a second signal.

import { type Cause, failureOf } from "./ending.js";

/** Where a service is in its life. Only a `running` service is ready. */
export type Phase = "configuring" | "starting" | "running" | "draining" | "stopping" | "stopped";

/** The durations that the machine decides by, in milliseconds. */
export interface Config {
  readonly startTimeoutMs: number;
  readonly drainDelayMs: number;
  readonly drainTimeoutMs: number;
}

export interface State {
  readonly config: Config;
  readonly phase: Phase;
  /** The cause of the end of the service: the first failure, or else the first request to stop. */
  readonly cause: Cause | undefined;
  /** The first signal that asked for the stop. */
  readonly signal: { readonly name: string; readonly at: number } | undefined;
  readonly forced: boolean;
  readonly timedOut: boolean;
}

export type TimerName = "start" | "delay" | "drain";

export type Event =
  | { readonly type: "boot" }
  /** The configuration is valid, and the tree is known. */
  | { readonly type: "configured" }
  /** The root has started. */
  | { readonly type: "started" }
  /** A failure, or a request to stop by other means than a signal. */
  | { readonly type: "cause"; readonly cause: Cause }
  | { readonly type: "signal"; readonly signal: string; readonly at: number }
  /** The hook before the tree stops has ended. */
  | { readonly type: "hook-ended" }
  /** The root has ended. */
  | { readonly type: "root-ended"; readonly cause: Cause }
  | { readonly type: "time-up"; readonly timer: TimerName };

export type Effect =
  | { readonly type: "configure" }
  | { readonly type: "launch" }
  | { readonly type: "announce"; readonly phase: Phase }
  | { readonly type: "arm"; readonly timer: TimerName; readonly delayMs: number }
  | { readonly type: "disarm"; readonly timer: TimerName }
  /** Asks who has not started: the start has taken too long. */
  | { readonly type: "blame-start" }
  | { readonly type: "note"; readonly cause: Cause }
  | { readonly type: "hook" }
  | { readonly type: "shut-down" }
  | { readonly type: "kill" }
  | { readonly type: "exit" };

/**
 * The same signal within this many milliseconds of the first one is an echo. After Ctrl-C the terminal signals each program of the
 * foreground, and `npm run` passes on to its child what the child has already got.
 */
export const SIGNAL_ECHO_MS = 500;

export function initial(config: Config): State {
  return {
    config,
    phase: "configuring",
    cause: undefined,
    signal: undefined,
    forced: false,
    timedOut: false,
  };
}

/** The state after `event`, and what to do about it, in order. */
export function decide(state: State, event: Event): readonly [State, readonly Effect[]] {
  const { phase, config } = state;
  if (phase === "stopped") return [state, []];
  switch (event.type) {
    case "boot":
      return [state, [...arm("start", config.startTimeoutMs), { type: "configure" }]];
    case "configured":
      return phase === "configuring" ? enter(state, "starting", [{ type: "launch" }]) : [state, []];
    case "started":
      return phase === "starting"
        ? enter(state, "running", [{ type: "disarm", timer: "start" }])
        : [state, []];
    case "cause":
      return caused(state, event.cause);
    case "signal":
      return signalled(state, event.signal, event.at);
    case "hook-ended":
      return phase === "draining" ? enter(state, "stopping", [{ type: "shut-down" }]) : [state, []];
    case "root-ended":
      return stopped({ ...state, cause: firstFailure(state.cause, event.cause) });
    case "time-up":
      return timeUp(state, event.timer);
    default:
      return event satisfies never;
  }
}

type Decision = readonly [State, readonly Effect[]];

/** An infinite time needs no timer. */
function arm(timer: TimerName, delayMs: number): readonly Effect[] {
  return delayMs === Number.POSITIVE_INFINITY ? [] : [{ type: "arm", timer, delayMs }];
}

function enter(state: State, phase: Phase, effects: readonly Effect[]): Decision {
  return [{ ...state, phase }, [{ type: "announce", phase }, ...effects]];
}

function stopped(state: State): Decision {
  return enter(state, "stopped", [{ type: "exit" }]);
}

/** The first failure counts; without one, the first request to stop. */
function firstFailure(before: Cause | undefined, cause: Cause): Cause {
  if (before === undefined || (failureOf(before) === undefined && failureOf(cause) !== undefined))
    return cause;
  return before;
}

/** Something ends the service, or would if it were not ending already. */
function caused(before: State, cause: Cause): Decision {
  const { phase, config } = before;
  const state = { ...before, cause: firstFailure(before.cause, cause) };
  const note: readonly Effect[] = [{ type: "note", cause }];
  switch (phase) {
    case "configuring":
    case "stopped": {
      const [next, effects] = stopped(state);
      return [next, [...note, ...effects]];
    }
    case "starting": {
      // A service that has not started gets no traffic, so the stop does not wait for load balancers to notice.
      const shutDown: readonly Effect[] = [...arm("drain", config.drainTimeoutMs), { type: "shut-down" }];
      const [next, effects] = enter(state, "stopping", shutDown);
      return [next, [...note, { type: "disarm", timer: "start" }, ...effects]];
    }
    case "running": {
      const delayMs = failureOf(cause) === undefined ? config.drainDelayMs : 0;
      const wait: readonly Effect[] = delayMs > 0 ? arm("delay", delayMs) : [{ type: "hook" }];
      const [next, effects] = enter(state, "draining", [...arm("drain", config.drainTimeoutMs), ...wait]);
      return [next, [...note, ...effects]];
    }
    case "draining":
    case "stopping":
      return [state, failureOf(cause) === undefined ? [] : note];
    default:
      return phase satisfies never;
  }
}

/** The first signal asks for the stop; a second one forces the end. */
function signalled(before: State, signal: string, at: number): Decision {
  const first = before.signal;
  if (first === undefined)
    return caused({ ...before, signal: { name: signal, at } }, { type: "signal", signal });
  if (first.name === signal && at - first.at < SIGNAL_ECHO_MS) return [before, []];
  return kill({ ...before, forced: true });
}

function kill(state: State): Decision {
  return state.phase === "stopping"
    ? [state, [{ type: "kill" }]]
    : enter(state, "stopping", [{ type: "kill" }]);
}

function timeUp(state: State, timer: TimerName): Decision {
  const { phase } = state;
  switch (timer) {
    case "start":
      return phase === "configuring" || phase === "starting"
        ? [state, [{ type: "blame-start" }]]
        : [state, []];
    case "delay":
      return phase === "draining" ? [state, [{ type: "hook" }]] : [state, []];
    case "drain":
      return phase === "draining" || phase === "stopping" ? kill({ ...state, timedOut: true }) : [state, []];
    default:
      return timer satisfies never;
  }
}
