// A dispatch conversation as a pure state machine: select a consumer, deliver to it, settle, and re-route on EXIT. `C` is
// the type by which the process around the machine identifies a consumer.
//
//   selecting ──selected──▶ delivered ──acked / handed off──▶ closed
//       ▲  │ at its limit       │ EXIT, rejected
//       │  ▼                    ├──▶ selecting       (re-route, within the attempt budget)
//       └ waiting               ├──▶ compensating ──▶ closed
//                               └──▶ closed          (fail; attempts used up; rejected for good)
//
// Every dispatch goes through `begin`, `selected` and `settled`. Their effects are constants and name no consumer: the state
// does. Each state is made by one literal, so that V8 gives all of them one shape.

import { invariant } from "../process/invariant.js";
import type { ExitReason } from "../process/reason.js";
import { cameBack, type EndedAttempt, failedOn, NO_PAST, type Past, rerouted } from "./attempts.js";
import type { Pressure } from "./member.js";

/** The reaction to the crash of a consumer: another consumer, an error, or an error after compensation. */
export type CrashPolicy = "reroute" | "fail" | "compensate";

export interface Policy {
  readonly onCrash: CrashPolicy;
  readonly maxAttempts: number;
}

/**
 * Why there was no consumer:
 *
 * - `empty`: the group has no members.
 * - `excluded`: the envelope has failed on all members.
 * - `none`: the routing function chose none of the candidates.
 * - `rejecting`: the chosen consumer has a full buffer.
 * - `waiting-full`: the number of waiting dispatches has reached `maxWaiting`.
 */
export type NoConsumerReason = "empty" | "excluded" | "none" | "rejecting" | "waiting-full";

export interface Identified {
  readonly id: string;
}

/** How long a dispatch has had no consumer to choose. `round` counts the times, so that an old timer changes nothing. */
export interface Patience {
  readonly status: "unused" | "running" | "over";
  readonly round: number;
}

export interface State<C extends Identified> {
  readonly phase: "selecting" | "waiting" | "delivered" | "compensating" | "closed";
  /** Number of the current attempt, 0 before the first. */
  readonly attempt: number;
  /** The consumer of the current attempt. Undefined while there is none. */
  readonly consumer: C | undefined;
  /** The dispatch has a place in the queue of its group: it waits there, or was woken and selects again. */
  readonly isQueued: boolean;
  readonly patience: Patience;
  readonly past: Past<C>;
}

export type Event<C extends Identified> =
  | { readonly type: "begin" }
  | { readonly type: "selected"; readonly consumer: C; readonly pressure: Pressure }
  /** There is no consumer to choose. `patient`: the dispatch may wait for one. */
  | { readonly type: "unselected"; readonly why: NoConsumerReason; readonly patient: boolean }
  /** There is no consumer to choose, and the system stops: none will come. */
  | { readonly type: "stopping" }
  /** The time that `start-patience` began is over. */
  | { readonly type: "impatient"; readonly round: number }
  | { readonly type: "misrouted"; readonly failure: Failure }
  /** A slot is free, or there is a new member: select again. */
  | { readonly type: "room" }
  /** The queue is full. */
  | { readonly type: "turned-away" }
  /** The envelope has been forwarded. Needed only while `past.isRerouting`. */
  | { readonly type: "forwarded"; readonly at: number }
  /** The consumer acknowledged, or survived the handoff window. */
  | { readonly type: "settled"; readonly attempt: number }
  | {
      readonly type: "rejected";
      readonly attempt: number;
      readonly reason: ExitReason;
      readonly final: boolean;
      readonly at: number;
    }
  /** `innocent`: another envelope, which the consumer worked on at the same time, crashed it. */
  | {
      readonly type: "exited";
      readonly consumer: C;
      readonly innocent: boolean;
      readonly reason: ExitReason;
      readonly at: number;
    }
  /** The consumer stops, or has `exited`, and had not taken the envelope yet. */
  | {
      readonly type: "returned";
      readonly consumer: C;
      readonly exited: boolean;
      readonly reason: ExitReason;
      readonly at: number;
    }
  | { readonly type: "compensated"; readonly reason: ExitReason | undefined }
  /** The deadline of one caller has passed. `isLast`: no caller has time left. */
  | { readonly type: "deadline"; readonly isLast: boolean }
  /** No caller waits any more. */
  | { readonly type: "withdrawn" }
  /** The conversation's own process was ended from outside. */
  | { readonly type: "died"; readonly reason: ExitReason };

/** Why the dispatch failed; failure.ts makes an error of it. */
export type Failure =
  | { readonly type: "no-consumer"; readonly why: NoConsumerReason }
  | { readonly type: "unknown-consumer"; readonly selected: string }
  | { readonly type: "evaluation"; readonly cause: unknown }
  | { readonly type: "deadline" }
  | { readonly type: "attempts"; readonly failures: number }
  /** One consumer rejected the envelope for good. */
  | { readonly type: "rejected"; readonly reason: ExitReason }
  | {
      readonly type: "conversation";
      readonly end: "crashed" | "compensated" | "compensation-failed" | "died";
      readonly reason: ExitReason;
    };

export type Effect<C extends Identified> =
  /** Ask the routing function, without the excluded consumers. */
  | { readonly type: "select" }
  /** Wait in the group's queue: for a slot of this consumer, or for any member. */
  | { readonly type: "wait"; readonly consumer: C | undefined }
  | { readonly type: "leave-queue" }
  | { readonly type: "start-patience" }
  | { readonly type: "stop-patience" }
  /** Link to the state's consumer, then forward the envelope to it. */
  | { readonly type: "deliver" }
  /** The attempt is over. `exited`: the consumer is gone, so there is no link to end. */
  | { readonly type: "release"; readonly exited: boolean }
  /** The dispatch ends before its consumer has settled: take the envelope back, or notify the consumer. */
  | { readonly type: "withdraw" }
  /** Undo the work of the state's consumer. */
  | { readonly type: "compensate" }
  /** The state's consumer has settled: the callers get the outcome. */
  | { readonly type: "complete" }
  | { readonly type: "fail"; readonly failure: Failure; readonly deadLetter: boolean }
  /** The callers whose deadline has passed get an error; the others go on waiting. */
  | { readonly type: "fail-overdue" }
  | { readonly type: "end" }
  /** End with the reason `shutdown`. */
  | { readonly type: "shut-down" };

type Effects = readonly Effect<never>[];
type Decision<C extends Identified> = readonly [State<C>, readonly Effect<C>[]];

const NOTHING: Effects = [];
const SELECT: Effects = [{ type: "select" }];
const DELIVER: Effects = [{ type: "deliver" }];
// The place in the queue is given up after the delivery, which uses the slot that the place had reserved.
const DELIVER_FROM_QUEUE: Effects = /* @__PURE__ */ DELIVER.concat({ type: "leave-queue" });
const STOP_PATIENCE: Effects = [{ type: "stop-patience" }];
const DELIVER_AFTER_PATIENCE: Effects = /* @__PURE__ */ STOP_PATIENCE.concat(DELIVER_FROM_QUEUE);
const WAIT: Effects = [{ type: "wait", consumer: undefined }];
const START_PATIENCE: Effects = [{ type: "start-patience" }];
const WAIT_PATIENTLY: Effects = /* @__PURE__ */ START_PATIENCE.concat(WAIT);
const LEAVE_QUEUE: Effects = [{ type: "leave-queue" }];
const WITHDRAW: Effects = [{ type: "withdraw" }];
const RELEASE: Effects = [{ type: "release", exited: false }];
const RELEASE_EXITED: Effects = [{ type: "release", exited: true }];
const RESELECT: Effects = /* @__PURE__ */ RELEASE.concat(SELECT);
const RESELECT_EXITED: Effects = /* @__PURE__ */ RELEASE_EXITED.concat(SELECT);
const COMPENSATE: Effects = /* @__PURE__ */ RELEASE_EXITED.concat({ type: "compensate" });
const COMPLETE: Effects = /* @__PURE__ */ RELEASE.concat({ type: "complete" }, { type: "end" });
const FAIL_OVERDUE: Effects = [{ type: "fail-overdue" }];
const SHUT_DOWN: Effects = [{ type: "shut-down" }];
const END: Effect<never> = { type: "end" };

const UNUSED: Patience = { status: "unused", round: 0 };

/** The only place that makes a state: see the head of the file. */
function stateOf<C extends Identified>(
  phase: State<C>["phase"],
  attempt: number,
  consumer: C | undefined,
  isQueued: boolean,
  patience: Patience,
  past: Past<C>,
): State<C> {
  return { phase, attempt, consumer, isQueued, patience, past };
}

const START: State<never> = /* @__PURE__ */ stateOf("selecting", 0, undefined, false, UNUSED, NO_PAST);
const BEGUN: Decision<never> = [START, SELECT];

export function initial<C extends Identified>(): State<C> {
  return START;
}

/** The state of a dispatch whose first consumer has the envelope, as `begin` and `selected` lead to it. */
export function delivered<C extends Identified>(consumer: C): State<C> {
  return stateOf("delivered", 1, consumer, false, UNUSED, NO_PAST);
}

/** The state after `event`, and the effects in order. An event that belongs to an earlier attempt changes nothing. */
export function decide<C extends Identified>(policy: Policy, state: State<C>, event: Event<C>): Decision<C> {
  switch (state.phase) {
    case "selecting":
      return whileSelecting(state, event);
    case "waiting":
      return whileWaiting(state, event);
    case "delivered":
      return whileDelivered(policy, state, event);
    case "compensating":
      return whileCompensating(state, event);
    case "closed":
      return ignore(state);
    default:
      return state.phase satisfies never;
  }
}

function ignore<C extends Identified>(state: State<C>): Decision<C> {
  return [state, NOTHING];
}

function whileSelecting<C extends Identified>(state: State<C>, event: Event<C>): Decision<C> {
  switch (event.type) {
    case "begin":
      return state === START ? BEGUN : [state, SELECT];
    case "selected":
      return selected(state, event.consumer, event.pressure);
    case "unselected":
      return unselected(state, event.why, event.patient);
    case "stopping":
      return [state, SHUT_DOWN];
    case "misrouted":
      return fail(state, event.failure);
    case "impatient":
      return isOver(state.patience, event.round) ? [withPatience(state, "over"), NOTHING] : ignore(state);
    default:
      return atAnyTime(state, event);
  }
}

function whileWaiting<C extends Identified>(state: State<C>, event: Event<C>): Decision<C> {
  switch (event.type) {
    case "room":
      return [toSelecting(state, state.patience), SELECT];
    case "impatient": {
      // No consumer has come. The dispatch looks once more before it fails.
      const { patience } = state;
      if (!isOver(patience, event.round)) return ignore(state);
      return [toSelecting(state, { status: "over", round: patience.round }), SELECT];
    }
    case "turned-away":
      return fail(state, { type: "no-consumer", why: "waiting-full" }, NOTHING);
    default:
      return atAnyTime(state, event);
  }
}

function whileDelivered<C extends Identified>(policy: Policy, state: State<C>, event: Event<C>): Decision<C> {
  switch (event.type) {
    case "settled":
      return event.attempt === state.attempt ? [close(state), COMPLETE] : ignore(state);
    case "rejected":
      return event.attempt === state.attempt ? rejected(policy, state, event) : ignore(state);
    case "exited":
      return event.consumer === state.consumer ? exited(policy, state, event) : ignore(state);
    case "returned":
      if (event.consumer !== state.consumer) return ignore(state);
      return goBack(state, endedAttempt(state, "returned", event), event.exited);
    case "forwarded": {
      const { attempt, consumer, isQueued, patience, past } = state;
      if (!past.isRerouting) return ignore(state);
      return [stateOf("delivered", attempt, consumer, isQueued, patience, rerouted(past, event.at)), NOTHING];
    }
    default:
      return atAnyTime(state, event);
  }
}

/** A compensation that has begun is seen through, within its own limit. */
function whileCompensating<C extends Identified>(state: State<C>, event: Event<C>): Decision<C> {
  switch (event.type) {
    case "compensated": {
      const reason = event.reason ?? state.past.history.at(-1)?.reason ?? { type: "normal" };
      const end = event.reason === undefined ? "compensated" : "compensation-failed";
      return fail(state, { type: "conversation", end, reason });
    }
    case "died":
      return died(state, event.reason);
    default:
      return ignore(state);
  }
}

function atAnyTime<C extends Identified>(state: State<C>, event: Event<C>): Decision<C> {
  switch (event.type) {
    case "deadline":
      return event.isLast ? fail(state, { type: "deadline" }, letGo(state)) : [state, FAIL_OVERDUE];
    case "withdrawn":
      return [close(state), [...letGo(state), END]];
    case "died":
      return died(state, event.reason);
    default:
      return ignore(state);
  }
}

function selected<C extends Identified>(state: State<C>, consumer: C, pressure: Pressure): Decision<C> {
  const { isQueued, past } = state;
  const wasPatient = state.patience.status === "running";
  // There is a consumer to choose again: the next time that there is none, patience begins anew.
  const patience: Patience =
    state.patience === UNUSED ? UNUSED : { status: "unused", round: state.patience.round + 1 };
  switch (pressure) {
    case "accept": {
      const effects = wasPatient ? DELIVER_AFTER_PATIENCE : isQueued ? DELIVER_FROM_QUEUE : DELIVER;
      return [stateOf("delivered", state.attempt + 1, consumer, false, patience, past), effects];
    }
    case "defer":
      return [
        stateOf("waiting", state.attempt, undefined, true, patience, past),
        [...(wasPatient ? STOP_PATIENCE : NOTHING), { type: "wait", consumer }],
      ];
    case "reject":
      return fail(state, { type: "no-consumer", why: "rejecting" });
    default:
      return pressure satisfies never;
  }
}

function unselected<C extends Identified>(
  state: State<C>,
  why: NoConsumerReason,
  patient: boolean,
): Decision<C> {
  const { attempt, past, patience } = state;
  if (!patient || patience.status === "over") {
    // An envelope that has failed on every member is a dead letter, however many attempts are left.
    return fail(state, { type: "no-consumer", why }, letGo(state), why === "excluded");
  }
  if (patience.status === "running")
    return [stateOf("waiting", attempt, undefined, true, patience, past), WAIT];
  const running: Patience = { status: "running", round: patience.round };
  return [stateOf("waiting", attempt, undefined, true, running, past), WAIT_PATIENTLY];
}

function rejected<C extends Identified>(
  policy: Policy,
  state: State<C>,
  event: { readonly reason: ExitReason; readonly final: boolean; readonly at: number },
): Decision<C> {
  const failed = withFailure(state, endedAttempt(state, "rejected", event));
  if (event.final) return fail(failed, { type: "rejected", reason: event.reason }, RELEASE, true);
  return reroute(policy, failed, false);
}

function exited<C extends Identified>(
  policy: Policy,
  state: State<C>,
  event: { readonly reason: ExitReason; readonly innocent: boolean; readonly at: number },
): Decision<C> {
  const { onCrash } = policy;
  const { reason } = event;
  // Work that has begun may begin again only where a crash re-routes.
  if (event.innocent && onCrash === "reroute")
    return goBack(state, endedAttempt(state, "interrupted", event), true);
  const failed = withFailure(state, endedAttempt(state, "crashed", event));
  switch (onCrash) {
    case "reroute":
      return reroute(policy, failed, true);
    case "fail":
      return fail(failed, { type: "conversation", end: "crashed", reason }, RELEASE_EXITED);
    case "compensate": {
      const { attempt, consumer, isQueued, patience, past } = failed;
      return [stateOf("compensating", attempt, consumer, isQueued, patience, past), COMPENSATE];
    }
    default:
      return onCrash satisfies never;
  }
}

function died<C extends Identified>(state: State<C>, reason: ExitReason): Decision<C> {
  return fail(state, { type: "conversation", end: "died", reason }, letGo(state));
}

function endedAttempt<C extends Identified>(
  { attempt, consumer }: State<C>,
  end: EndedAttempt["end"],
  { reason, at }: { readonly reason: ExitReason; readonly at: number },
): EndedAttempt {
  invariant(consumer !== undefined, "an attempt that ends has a consumer");
  return { attempt, consumer: consumer.id, end, reason, at };
}

/** Another consumer gets the envelope, unless this was the last attempt. */
function reroute<C extends Identified>(policy: Policy, state: State<C>, exited: boolean): Decision<C> {
  const { failures } = state.past;
  if (failures >= policy.maxAttempts)
    return fail(state, { type: "attempts", failures }, exited ? RELEASE_EXITED : RELEASE, true);
  return [toSelecting(state, state.patience), exited ? RESELECT_EXITED : RESELECT];
}

/** Another consumer gets the envelope, and the attempt does not count. */
function goBack<C extends Identified>(
  { attempt, isQueued, patience, past }: State<C>,
  ended: EndedAttempt,
  exited: boolean,
): Decision<C> {
  const next = stateOf("selecting", attempt, undefined, isQueued, patience, cameBack(past, ended, exited));
  return [next, exited ? RESELECT_EXITED : RESELECT];
}

function letGo<C extends Identified>(state: State<C>): readonly Effect<C>[] {
  if (state.isQueued) return LEAVE_QUEUE;
  return state.phase === "delivered" ? WITHDRAW : NOTHING;
}

function fail<C extends Identified>(
  state: State<C>,
  failure: Failure,
  first: readonly Effect<C>[] = letGo(state),
  deadLetter = false,
): Decision<C> {
  return [close(state), [...first, { type: "fail", failure, deadLetter }, END]];
}

function close<C extends Identified>({ attempt, consumer, patience, past }: State<C>): State<C> {
  return stateOf("closed", attempt, consumer, false, patience, past);
}

function toSelecting<C extends Identified>(state: State<C>, patience: Patience): State<C> {
  return stateOf("selecting", state.attempt, undefined, state.isQueued, patience, state.past);
}

function withPatience<C extends Identified>(state: State<C>, status: Patience["status"]): State<C> {
  const { phase, attempt, consumer, isQueued, patience, past } = state;
  return stateOf(phase, attempt, consumer, isQueued, { status, round: patience.round }, past);
}

function withFailure<C extends Identified>(state: State<C>, ended: EndedAttempt): State<C> {
  const { phase, attempt, consumer, isQueued, patience, past } = state;
  invariant(consumer !== undefined, "a failure has a consumer");
  return stateOf(phase, attempt, consumer, isQueued, patience, failedOn(past, consumer, ended));
}

function isOver(patience: Patience, round: number): boolean {
  return patience.status === "running" && patience.round === round;
}
