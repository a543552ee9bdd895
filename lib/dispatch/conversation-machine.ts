// A dispatch conversation as a pure state machine: select, deliver, settle, and re-route on EXIT. `C` is whatever the
// process around it knows a consumer by.
//
//   selecting ──selected──▶ delivered ──acked / handed off──▶ closed
//       ▲  │ at its limit       │ EXIT, rejected
//       │  ▼                    ├──▶ selecting       (re-route, within the attempt budget)
//       └ waiting               ├──▶ compensating ──▶ closed
//                               └──▶ closed          (fail; attempts used up; rejected for good)

import type { ExitReason } from "../process/reason.js";
import type { Pressure } from "./member.js";

/** What a crash of the consumer leads to: another consumer, an error, or an error after undoing what was done. */
export type CrashPolicy = "reroute" | "fail" | "compensate";

export interface Policy {
  readonly onCrash: CrashPolicy;
  readonly maxAttempts: number;
}

/** An attempt that did not end with a delivery. */
export interface EndedAttempt {
  /** From 1. */
  readonly attempt: number;
  /** Id of the consumer. */
  readonly consumer: string;
  /**
   * `returned`: the consumer ended before it took the envelope out of its mailbox. `interrupted`: it crashed on another
   * envelope that it worked on at the same time. Neither is a failure of this one.
   */
  readonly end: "crashed" | "rejected" | "returned" | "interrupted";
  readonly reason: ExitReason;
  /** When that was observed, in milliseconds of the system's clock. */
  readonly at: number;
}

/**
 * Why there was no consumer: the group is `empty`; all members have been tried (`excluded`); the routing function
 * chose `none`; the one it chose is `rejecting`; or as many dispatches wait already as may (`waiting-full`).
 */
export type NoConsumerReason = "empty" | "excluded" | "none" | "rejecting" | "waiting-full";

export interface Identified {
  readonly id: string;
}

export interface State<C extends Identified> {
  readonly phase: "selecting" | "waiting" | "delivered" | "compensating" | "closed";
  /** Number of the current attempt, 0 before the first. */
  readonly attempt: number;
  readonly consumer: C | undefined;
  /** Consumers that this envelope is not given to any more. */
  readonly excluded: readonly C[];
  /** The last attempts that ended without a delivery. */
  readonly history: readonly EndedAttempt[];
  /** Attempts that count against the budget: crashed or rejected. */
  readonly failures: number;
  /** Whether there is nobody to choose, and for how long it has been so: since now, or too long. */
  readonly patience: "unused" | "running" | "over";
}

export type Event<C extends Identified> =
  | { readonly type: "begin" }
  | { readonly type: "selected"; readonly consumer: C; readonly pressure: Pressure }
  /** There is nobody to choose. `patient`: the dispatch may wait for somebody. */
  | { readonly type: "unselected"; readonly why: NoConsumerReason; readonly patient: boolean }
  /** It has waited for somebody as long as it may. */
  | { readonly type: "impatient" }
  | { readonly type: "misrouted"; readonly failure: Failure }
  /** There is room, or a new member: select again. */
  | { readonly type: "room" }
  /** As many wait already as may. */
  | { readonly type: "turned-away" }
  /** The consumer acknowledged, or survived the handoff window. */
  | { readonly type: "settled"; readonly attempt: number }
  | {
      readonly type: "rejected";
      readonly attempt: number;
      readonly reason: ExitReason;
      readonly final: boolean;
      readonly at: number;
    }
  /** `innocent`: by another envelope that it worked on at the same time. */
  | {
      readonly type: "exited";
      readonly consumer: C;
      readonly innocent: boolean;
      readonly reason: ExitReason;
      readonly at: number;
    }
  /** It ends or has `exited`, and had not taken the envelope yet. */
  | {
      readonly type: "returned";
      readonly consumer: C;
      readonly exited: boolean;
      readonly reason: ExitReason;
      readonly at: number;
    }
  | { readonly type: "compensated"; readonly reason: ExitReason | undefined }
  | { readonly type: "deadline" }
  | { readonly type: "withdrawn" };

/** Why the dispatch failed; the process makes an error class of it. */
export type Failure =
  | { readonly type: "no-consumer"; readonly why: NoConsumerReason }
  | { readonly type: "unknown-consumer"; readonly selected: string }
  | { readonly type: "evaluation"; readonly cause: unknown }
  | { readonly type: "deadline" }
  | { readonly type: "attempts"; readonly failures: number }
  /** For good, by one consumer. */
  | { readonly type: "rejected"; readonly reason: ExitReason }
  | {
      readonly type: "conversation";
      readonly end: "crashed" | "compensated" | "compensation-failed";
      readonly reason: ExitReason;
    };

export type Effect<C extends Identified> =
  /** Ask the routing function, leaving out the excluded ones. */
  | { readonly type: "select" }
  /** Wait for room at this consumer, or for a member at all. */
  | { readonly type: "wait"; readonly consumer: C | undefined }
  | { readonly type: "stop-waiting" }
  /** The time for which there may be nobody to choose begins, or ends before it is over. */
  | { readonly type: "start-patience" }
  | { readonly type: "stop-patience" }
  /** Link, then forward. */
  | { readonly type: "deliver"; readonly consumer: C; readonly attempt: number }
  /** The consumer has settled, or `exited`: then it is gone, so there is no link to end. */
  | { readonly type: "release"; readonly consumer: C; readonly exited: boolean }
  /** The dispatch ends before its consumer has settled: take the envelope back, or tell the consumer. */
  | { readonly type: "withdraw"; readonly consumer: C }
  | { readonly type: "compensate"; readonly consumer: C; readonly reason: ExitReason }
  | { readonly type: "complete"; readonly consumer: C }
  | { readonly type: "fail"; readonly failure: Failure; readonly deadLetter: boolean }
  | { readonly type: "end" };

type Decision<C extends Identified> = readonly [State<C>, readonly Effect<C>[]];

const START: State<never> = {
  phase: "selecting",
  attempt: 0,
  consumer: undefined,
  excluded: [],
  history: [],
  failures: 0,
  patience: "unused",
};
/** Attempts that are remembered of one dispatch, however many there are. */
const REMEMBERED = 100;
const SELECT: readonly Effect<never>[] = [{ type: "select" }];
const WAIT: readonly Effect<never>[] = [{ type: "wait", consumer: undefined }];
const WAIT_PATIENTLY: readonly Effect<never>[] = [{ type: "start-patience" }, ...WAIT];
const STOP_PATIENCE: readonly Effect<never>[] = [{ type: "stop-patience" }];
const NOTHING: readonly Effect<never>[] = [];
const END: Effect<never> = { type: "end" };

export function initial<C extends Identified>(): State<C> {
  return START;
}

/** The state after `event`, and what to do about it, in order. What belongs to an earlier attempt changes nothing. */
export function decide<C extends Identified>(policy: Policy, state: State<C>, event: Event<C>): Decision<C> {
  const { phase } = state;
  if (phase === "closed") return [state, NOTHING];
  switch (event.type) {
    case "begin":
      return phase === "selecting" ? [state, SELECT] : [state, NOTHING];
    case "selected":
      return phase === "selecting" ? selected(state, event.consumer, event.pressure) : [state, NOTHING];
    case "unselected":
      if (phase !== "selecting") return [state, NOTHING];
      if (event.patient && state.patience !== "over")
        return [
          { ...state, phase: "waiting", patience: "running" },
          state.patience === "running" ? WAIT : WAIT_PATIENTLY,
        ];
      // What has failed on every member there is, is a dead letter, however many attempts it had left.
      return fail(state, { type: "no-consumer", why: event.why }, NOTHING, event.why === "excluded");
    case "misrouted":
      return phase === "selecting" ? fail(state, event.failure) : [state, NOTHING];
    case "room":
      return phase === "waiting" ? [{ ...state, phase: "selecting" }, SELECT] : [state, NOTHING];
    case "impatient":
      if (state.patience !== "running") return [state, NOTHING];
      // Nobody has come; it looks once more, unless it is looking.
      if (phase === "waiting") return [{ ...state, phase: "selecting", patience: "over" }, SELECT];
      return [{ ...state, patience: "over" }, NOTHING];
    case "turned-away":
      return phase === "waiting"
        ? fail(state, { type: "no-consumer", why: "waiting-full" })
        : [state, NOTHING];
    case "settled": {
      const { consumer } = state;
      if (phase !== "delivered" || consumer === undefined || event.attempt !== state.attempt)
        return [state, NOTHING];
      return [
        closed(state),
        [{ type: "release", consumer, exited: false }, { type: "complete", consumer }, END],
      ];
    }
    case "rejected": {
      const { consumer } = state;
      if (phase !== "delivered" || consumer === undefined || event.attempt !== state.attempt)
        return [state, NOTHING];
      const tried = ended(state, consumer, "rejected", event.reason, event.at);
      const release: Effect<C> = { type: "release", consumer, exited: false };
      if (event.final) return fail(tried, { type: "rejected", reason: event.reason }, [release], true);
      return reroute(policy, tried, release);
    }
    case "exited":
      if (phase !== "delivered" || event.consumer !== state.consumer) return [state, NOTHING];
      // What was begun can be begun again only where a crash may re-route.
      if (event.innocent && policy.onCrash === "reroute") return sentBack(state, event, "interrupted", true);
      return crashed(
        policy,
        ended(state, event.consumer, "crashed", event.reason, event.at),
        event.consumer,
        event.reason,
      );
    case "returned":
      if (phase !== "delivered" || event.consumer !== state.consumer) return [state, NOTHING];
      return sentBack(state, event, "returned", event.exited);
    case "compensated": {
      if (phase !== "compensating") return [state, NOTHING];
      const reason = event.reason ?? state.history.at(-1)?.reason ?? { type: "normal" };
      const end = event.reason === undefined ? "compensated" : "compensation-failed";
      return fail(state, { type: "conversation", end, reason });
    }
    // A compensation that has begun is seen through, within its own limit.
    case "deadline":
      return phase === "compensating" ? [state, NOTHING] : fail(state, { type: "deadline" }, letGo(state));
    case "withdrawn":
      if (phase === "compensating") return [state, NOTHING];
      return [closed(state), [...letGo(state), END]];
    default:
      return event satisfies never;
  }
}

// The states that every dispatch goes through are written out: V8 copies an object by a spread much more slowly.

function delivered<C extends Identified>(state: State<C>, attempt: number, consumer: C): State<C> {
  const { excluded, history, failures } = state;
  return { phase: "delivered", attempt, consumer, excluded, history, failures, patience: "unused" };
}

function closed<C extends Identified>(state: State<C>): State<C> {
  const { attempt, consumer, excluded, history, failures, patience } = state;
  return { phase: "closed", attempt, consumer, excluded, history, failures, patience };
}

function selected<C extends Identified>(state: State<C>, consumer: C, pressure: Pressure): Decision<C> {
  // There is somebody to choose again, and patience begins anew.
  const first = state.patience === "running" ? STOP_PATIENCE : NOTHING;
  switch (pressure) {
    case "accept": {
      const attempt = state.attempt + 1;
      const deliver: Effect<C> = { type: "deliver", consumer, attempt };
      return [delivered(state, attempt, consumer), first === NOTHING ? [deliver] : [...first, deliver]];
    }
    case "defer":
      return [{ ...state, phase: "waiting", patience: "unused" }, [...first, { type: "wait", consumer }]];
    case "reject":
      return fail(state, { type: "no-consumer", why: "rejecting" });
    default:
      return pressure satisfies never;
  }
}

function ended<C extends Identified>(
  state: State<C>,
  consumer: C,
  end: "crashed" | "rejected",
  reason: ExitReason,
  at: number,
): State<C> {
  const entry: EndedAttempt = { attempt: state.attempt, consumer: consumer.id, end, reason, at };
  const history = remember(state.history, entry);
  return { ...state, excluded: remember(state.excluded, consumer), history, failures: state.failures + 1 };
}

/** Another consumer gets it, and no attempt is spent. */
function sentBack<C extends Identified>(
  state: State<C>,
  { consumer, reason, at }: { readonly consumer: C; readonly reason: ExitReason; readonly at: number },
  end: "returned" | "interrupted",
  exited: boolean,
): Decision<C> {
  const entry: EndedAttempt = { attempt: state.attempt, consumer: consumer.id, end, reason, at };
  const history = remember(state.history, entry);
  const selecting: State<C> = { ...state, phase: "selecting", consumer: undefined, history };
  return [selecting, [{ type: "release", consumer, exited }, { type: "select" }]];
}

function remember<T>(list: readonly T[], item: T): readonly T[] {
  return [...list.slice(1 - REMEMBERED), item];
}

function crashed<C extends Identified>(
  policy: Policy,
  state: State<C>,
  consumer: C,
  reason: ExitReason,
): Decision<C> {
  const release: Effect<C> = { type: "release", consumer, exited: true };
  switch (policy.onCrash) {
    case "reroute":
      return reroute(policy, state, release);
    case "fail":
      return fail(state, { type: "conversation", end: "crashed", reason }, [release]);
    case "compensate":
      return [{ ...state, phase: "compensating" }, [release, { type: "compensate", consumer, reason }]];
    default:
      return policy.onCrash satisfies never;
  }
}

function reroute<C extends Identified>(policy: Policy, state: State<C>, release: Effect<C>): Decision<C> {
  const { failures } = state;
  if (failures >= policy.maxAttempts) return fail(state, { type: "attempts", failures }, [release], true);
  return [{ ...state, phase: "selecting", consumer: undefined }, [release, { type: "select" }]];
}

function letGo<C extends Identified>(state: State<C>): readonly Effect<C>[] {
  if (state.phase === "waiting") return [{ type: "stop-waiting" }];
  if (state.phase === "delivered" && state.consumer !== undefined) {
    return [{ type: "withdraw", consumer: state.consumer }];
  }
  return NOTHING;
}

function fail<C extends Identified>(
  state: State<C>,
  failure: Failure,
  first: readonly Effect<C>[] = NOTHING,
  deadLetter = false,
): Decision<C> {
  return [closed(state), [...first, { type: "fail", failure, deadLetter }, END]];
}
