// A dispatch conversation as a pure state machine: select, deliver, settle, and re-route on EXIT. `C` is whatever the
// process around it knows a consumer by.
//
//   selecting ──selected──▶ delivered ──acked / handed off──▶ closed
//       ▲  │ at its limit       │ EXIT, rejected
//       │  ▼                    ├──▶ selecting       (re-route, within the attempt budget)
//       └ waiting               ├──▶ compensating ──▶ closed
//                               └──▶ closed          (fail; attempts used up; rejected for good)

import type { ExitReason } from "../process/reason.js";
import type { Pressure } from "./consumer.js";

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
  /** `returned`: the consumer ended before it took the envelope out of its mailbox, which is no failure of this one. */
  readonly end: "crashed" | "rejected" | "returned";
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
}

export type Event<C extends Identified> =
  | { readonly type: "begin" }
  | { readonly type: "selected"; readonly consumer: C; readonly pressure: Pressure }
  | { readonly type: "unselected"; readonly why: NoConsumerReason; readonly patient: boolean }
  | { readonly type: "misrouted"; readonly failure: Failure }
  /** There is room, or a new member: select again. */
  | { readonly type: "room" }
  /** As many wait already as may. */
  | { readonly type: "turned-away" }
  /** The consumer acknowledged, or survived the hand-off window. */
  | { readonly type: "settled"; readonly attempt: number }
  | {
      readonly type: "rejected";
      readonly attempt: number;
      readonly reason: ExitReason;
      readonly final: boolean;
      readonly at: number;
    }
  | { readonly type: "exited"; readonly consumer: C; readonly reason: ExitReason; readonly at: number }
  /** It ended, and had not taken the envelope yet. */
  | { readonly type: "returned"; readonly consumer: C; readonly reason: ExitReason; readonly at: number }
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
  | {
      readonly type: "conversation";
      readonly end: "crashed" | "compensated" | "compensation-failed" | "rejected";
      readonly reason: ExitReason;
    };

export type Effect<C extends Identified> =
  /** Ask the routing function, leaving out the excluded ones. */
  | { readonly type: "select" }
  /** Wait for room at this consumer, or for a member at all. */
  | { readonly type: "wait"; readonly consumer: C | undefined }
  | { readonly type: "stop-waiting" }
  /** Link, then forward. */
  | { readonly type: "deliver"; readonly consumer: C; readonly attempt: number }
  /** The consumer has no more to do with this envelope. `exited`: it is gone, so there is no link to end. */
  | { readonly type: "release"; readonly consumer: C; readonly exited: boolean }
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
};
/** Attempts that are remembered of one dispatch, however many there are. */
const REMEMBERED = 100;
const SELECT: readonly Effect<never>[] = [{ type: "select" }];
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
      if (event.patient) return [{ ...state, phase: "waiting" }, [{ type: "wait", consumer: undefined }]];
      // What has failed on every member there is, is a dead letter, however many attempts it had left.
      return fail(state, { type: "no-consumer", why: event.why }, NOTHING, event.why === "excluded");
    case "misrouted":
      return phase === "selecting" ? fail(state, event.failure) : [state, NOTHING];
    case "room":
      return phase === "waiting" ? [{ ...state, phase: "selecting" }, SELECT] : [state, NOTHING];
    case "turned-away":
      return phase === "waiting"
        ? fail(state, { type: "no-consumer", why: "waiting-full" })
        : [state, NOTHING];
    case "settled": {
      const { consumer } = state;
      if (phase !== "delivered" || consumer === undefined || event.attempt !== state.attempt)
        return [state, NOTHING];
      const closed: State<C> = { ...state, phase: "closed" };
      return [closed, [{ type: "release", consumer, exited: false }, { type: "complete", consumer }, END]];
    }
    case "rejected": {
      const { consumer } = state;
      if (phase !== "delivered" || consumer === undefined || event.attempt !== state.attempt)
        return [state, NOTHING];
      const tried = ended(state, consumer, "rejected", event.reason, event.at);
      const release: Effect<C> = { type: "release", consumer, exited: false };
      if (event.final)
        return fail(tried, { type: "conversation", end: "rejected", reason: event.reason }, [release], true);
      return reroute(policy, tried, release);
    }
    case "exited":
      if (phase !== "delivered" || event.consumer !== state.consumer) return [state, NOTHING];
      return crashed(
        policy,
        ended(state, event.consumer, "crashed", event.reason, event.at),
        event.consumer,
        event.reason,
      );
    case "returned": {
      if (phase !== "delivered" || event.consumer !== state.consumer) return [state, NOTHING];
      const { consumer, reason, at } = event;
      const entry: EndedAttempt = {
        attempt: state.attempt,
        consumer: consumer.id,
        end: "returned",
        reason,
        at,
      };
      const history = remember(state.history, entry);
      const selecting: State<C> = { ...state, phase: "selecting", consumer: undefined, history };
      return [selecting, [{ type: "release", consumer, exited: true }, { type: "select" }]];
    }
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
      return [{ ...state, phase: "closed" }, [...letGo(state), END]];
    default:
      return event satisfies never;
  }
}

function selected<C extends Identified>(state: State<C>, consumer: C, pressure: Pressure): Decision<C> {
  switch (pressure) {
    case "accept": {
      const attempt = state.attempt + 1;
      return [{ ...state, phase: "delivered", attempt, consumer }, [{ type: "deliver", consumer, attempt }]];
    }
    case "defer":
      return [{ ...state, phase: "waiting" }, [{ type: "wait", consumer }]];
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
    return [{ type: "release", consumer: state.consumer, exited: false }];
  }
  return NOTHING;
}

function fail<C extends Identified>(
  state: State<C>,
  failure: Failure,
  first: readonly Effect<C>[] = NOTHING,
  deadLetter = false,
): Decision<C> {
  return [{ ...state, phase: "closed" }, [...first, { type: "fail", failure, deadLetter }, END]];
}
