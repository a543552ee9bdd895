// A dynamic supervisor as a state machine: children of one kind, added on demand, restarted one by one, and stopped
// together. `P` is what the process around the machine identifies a running child by: a pid.
//
//   add ─▶ starting ─started─▶ running ─exited─▶ restarting ─▶ starting …
//             │ failed, ignored    │ terminate        │ terminate
//             ▼                    ▼                  ▼
//           gone               stopping ─exited─▶   gone
//
// For speed the tables of children are updated in place: a state that was given to `decide` must not be used again. The
// machine stays deterministic, and reads no clock and no randomness.

import { type ExitReason, isOrderly, SHUTDOWN } from "../process/reason.js";
import type { FullChildSpec } from "./child.js";
import type { Answer, Restarting } from "./protocol.js";
import { Queue } from "./queue.js";
import { countRestart, isRestarted, type RestartLimits } from "./restart-rule.js";

/** How the supervisor treats its children. */
export interface DynamicConfig extends RestartLimits {
  readonly spec: FullChildSpec;
  readonly maxChildren: number;
}

/** One child. */
export interface DynamicChild<P> {
  readonly key: string;
  readonly args: readonly unknown[];
  /** Its process. Undefined while it waits for its next start. */
  pid: P | undefined;
  /** Its last process, until the next start has succeeded: a request may still name the child by that pid. */
  former: P | undefined;
  starting: boolean;
  /** The request that added the child, until the first start has ended. */
  asker: number | undefined;
  /** The requests that terminate the child, if there are any. */
  stopping: number[] | undefined;
  /** When it last came up. */
  since: number;
  /** How often it was started again without a calm time between. */
  attempts: number;
  /** Why it last ended. */
  failure: ExitReason;
}

export interface DynamicState<P> {
  readonly config: DynamicConfig;
  readonly children: Map<string, DynamicChild<P>>;
  readonly byPid: Map<P, DynamicChild<P>>;
  /** Times of the restarts within the period. */
  restarts: Queue<number>;
  /** Why the supervisor stops its children and ends, once it does. */
  closing: ExitReason | undefined;
  /** While closing: children that have yet to get the order to stop, or to die. */
  orders: Queue<DynamicChild<P>>;
  /** While closing: the shutdown time that all children share is over. */
  timeIsUp: boolean;
  lastKey: number;
}

/** `token` names a request in its answer. */
export type DynamicEvent<P> =
  | { readonly type: "add"; readonly token: number; readonly args: readonly unknown[] }
  | { readonly type: "terminate"; readonly token: number; readonly pid: P | undefined }
  /** A start that the machine ordered has a process now. */
  | { readonly type: "spawned"; readonly key: string; readonly pid: P }
  | { readonly type: "started"; readonly key: string; readonly at: number }
  | { readonly type: "ignored"; readonly key: string }
  | { readonly type: "failed"; readonly key: string; readonly reason: ExitReason }
  | {
      readonly type: "exited";
      readonly pid: P;
      readonly reason: ExitReason;
      readonly at: number;
      /** A number in [0, 1) for the jitter of a backoff; see {@link isRestart}. */
      readonly roll: number;
    }
  /** A failed start is tried again. */
  | { readonly type: "retry"; readonly key: string; readonly at: number; readonly roll: number }
  /** The wait of a backoff is over. */
  | { readonly type: "resume"; readonly key: string }
  | { readonly type: "close"; readonly reason: ExitReason }
  | { readonly type: "time-up" }
  | { readonly type: "go-on" };

export type DynamicEffect<P> =
  | { readonly type: "start"; readonly key: string; readonly args: readonly unknown[] }
  | { readonly type: "answer"; readonly token: number; readonly answer: Answer<P> }
  | { readonly type: "refuse"; readonly token: number; readonly why: "max_children" }
  /** Stops one child within its shutdown time. */
  | { readonly type: "stop"; readonly key: string; readonly pid: P }
  /** The child of a `stop` has ended: its timer is no longer needed. */
  | { readonly type: "stopped"; readonly key: string }
  | { readonly type: "abort-start" | "shut-down" | "kill"; readonly pid: P }
  | { readonly type: "retry"; readonly key: string }
  | { readonly type: "resume-after"; readonly key: string; readonly delayMs: number }
  | { readonly type: "time-up-after"; readonly delayMs: number }
  /** More orders are left: the supervisor comes back to them after its other messages. */
  | { readonly type: "go-on" }
  | { readonly type: "report-restart"; readonly key: string; readonly restart: Restarting }
  /** A child failed and is not restarted. */
  | { readonly type: "report-exit"; readonly reason: ExitReason }
  | { readonly type: "exit"; readonly reason: ExitReason };

/** A closing supervisor gives orders to this many children at a time, so that the host runs in between. */
export const AT_ONCE = 250;

const NOTHING: readonly never[] = [];

export function initial<P>(config: DynamicConfig): DynamicState<P> {
  return {
    config,
    children: new Map(),
    byPid: new Map(),
    restarts: Queue.of(),
    closing: undefined,
    orders: Queue.of(),
    timeIsUp: false,
    lastKey: 0,
  };
}

/** The state after `event`, and what to do about it, in order. */
export function decide<P>(
  state: DynamicState<P>,
  event: DynamicEvent<P>,
): readonly [DynamicState<P>, readonly DynamicEffect<P>[]] {
  return [state, effectsOf(state, event)];
}

function effectsOf<P>(state: DynamicState<P>, event: DynamicEvent<P>): readonly DynamicEffect<P>[] {
  switch (event.type) {
    case "add":
      return add(state, event.token, event.args);
    case "terminate":
      return terminate(state, event.token, event.pid);
    case "exited":
      return exited(state, event);
    case "close":
      return close(state, event.reason);
    case "time-up":
      state.timeIsUp = true;
      state.orders = Queue.of(state.children.values());
      return goOn(state);
    case "go-on":
      return goOn(state);
    default: {
      const child = state.children.get(event.key);
      return child === undefined ? NOTHING : ofChild(state, child, event);
    }
  }
}

/** An event about a child that the supervisor still has. */
function ofChild<P>(
  state: DynamicState<P>,
  child: DynamicChild<P>,
  event: Extract<DynamicEvent<P>, { readonly key: string }>,
): readonly DynamicEffect<P>[] {
  switch (event.type) {
    case "spawned":
      child.pid = event.pid;
      state.byPid.set(event.pid, child);
      return NOTHING;
    case "started":
      return started(state, child, event.at);
    case "ignored":
      return startEnded(state, child, { ok: true, pid: undefined });
    case "failed":
      if (child.asker !== undefined || child.stopping !== undefined || state.closing !== undefined)
        return startEnded(state, child, { ok: false, problem: "start_failed", reason: event.reason });
      // A restart that failed counts too. It is tried again after the messages that are already in the mailbox.
      child.starting = false;
      if (child.pid !== undefined) state.byPid.delete(child.pid);
      child.pid = undefined;
      child.failure = event.reason;
      return [{ type: "retry", key: child.key }];
    case "retry":
      return state.closing === undefined ? restart(state, child, child.failure, 0, event) : NOTHING;
    case "resume":
      return state.closing === undefined ? [start(child)] : NOTHING;
    default:
      return event satisfies never;
  }
}

/** Whether the end of that process makes the supervisor restart a child. Only then does the event need a `roll`. */
export function isRestart<P>(state: DynamicState<P>, pid: P, reason: ExitReason): boolean {
  const child = state.byPid.get(pid);
  return (
    child !== undefined &&
    child.pid === pid &&
    child.stopping === undefined &&
    !child.starting &&
    state.closing === undefined &&
    isRestarted(state.config.spec.restart, reason)
  );
}

/** Children that came up at least once, in the order in which they were added. */
export function listed<P>(state: DynamicState<P>): DynamicChild<P>[] {
  return [...state.children.values()].filter((child) => child.asker === undefined);
}

function add<P>(
  state: DynamicState<P>,
  token: number,
  args: readonly unknown[],
): readonly DynamicEffect<P>[] {
  // The end of the supervisor answers the request.
  if (state.closing !== undefined) return NOTHING;
  if (state.children.size >= state.config.maxChildren)
    return [{ type: "refuse", token, why: "max_children" }];
  const child: DynamicChild<P> = {
    key: String(++state.lastKey),
    args,
    pid: undefined,
    former: undefined,
    starting: true,
    asker: token,
    stopping: undefined,
    since: 0,
    attempts: 0,
    failure: SHUTDOWN,
  };
  state.children.set(child.key, child);
  return [start(child)];
}

function start<P>(child: DynamicChild<P>): DynamicEffect<P> {
  child.starting = true;
  return { type: "start", key: child.key, args: child.args };
}

function started<P>(state: DynamicState<P>, child: DynamicChild<P>, at: number): readonly DynamicEffect<P>[] {
  const { asker } = child;
  child.asker = undefined;
  child.starting = false;
  child.since = at;
  if (child.former !== undefined) state.byPid.delete(child.former);
  child.former = undefined;
  return asker === undefined
    ? NOTHING
    : [{ type: "answer", token: asker, answer: { ok: true, pid: child.pid } }];
}

/** A start ended without a running child, and is not tried again. */
function startEnded<P>(
  state: DynamicState<P>,
  child: DynamicChild<P>,
  answer: Answer<P>,
): readonly DynamicEffect<P>[] {
  const effects: DynamicEffect<P>[] = [];
  forget(state, child);
  if (child.asker !== undefined) effects.push({ type: "answer", token: child.asker, answer });
  if (child.stopping !== undefined) answerStopping(child, child.stopping, effects);
  return andEnd(state, effects);
}

function terminate<P>(
  state: DynamicState<P>,
  token: number,
  pid: P | undefined,
): readonly DynamicEffect<P>[] {
  const child = pid === undefined ? undefined : state.byPid.get(pid);
  if (child === undefined) return [{ type: "answer", token, answer: { ok: false, problem: "not_found" } }];
  if (child.pid === undefined) {
    forget(state, child);
    return [{ type: "answer", token, answer: { ok: true, pid: undefined } }];
  }
  if (child.stopping !== undefined) {
    child.stopping.push(token);
    return NOTHING;
  }
  child.stopping = [token];
  // A closing supervisor gives every child its order anyway.
  return state.closing === undefined ? [{ type: "stop", key: child.key, pid: child.pid }] : NOTHING;
}

function exited<P>(
  state: DynamicState<P>,
  event: Extract<DynamicEvent<P>, { type: "exited" }>,
): readonly DynamicEffect<P>[] {
  const { pid, reason, at } = event;
  const child = state.byPid.get(pid);
  if (child === undefined || child.pid !== pid) return NOTHING;
  if (child.stopping !== undefined) return stopped(state, child, child.stopping, reason);
  // The outcome of the start follows, and says the same.
  if (child.starting) return NOTHING;
  if (isRestart(state, pid, reason)) {
    child.former = pid;
    child.pid = undefined;
    return restart(state, child, reason, at - child.since, event);
  }
  forget(state, child);
  if (state.closing !== undefined) return andEnd(state, []);
  return isOrderly(reason) ? NOTHING : [{ type: "report-exit", reason }];
}

/** A child that was to be stopped has ended. */
function stopped<P>(
  state: DynamicState<P>,
  child: DynamicChild<P>,
  askers: readonly number[],
  reason: ExitReason,
): readonly DynamicEffect<P>[] {
  const effects: DynamicEffect<P>[] = [];
  forget(state, child);
  if (child.asker !== undefined) {
    const answer: Answer<P> = { ok: false, problem: "start_failed", reason };
    effects.push({ type: "answer", token: child.asker, answer });
  }
  answerStopping(child, askers, effects);
  return andEnd(state, effects);
}

function answerStopping<P>(
  child: DynamicChild<P>,
  askers: readonly number[],
  effects: DynamicEffect<P>[],
): void {
  effects.push({ type: "stopped", key: child.key });
  for (const token of askers) effects.push({ type: "answer", token, answer: { ok: true, pid: undefined } });
}

/** Counts a restart and begins it, or gives up. */
function restart<P>(
  state: DynamicState<P>,
  child: DynamicChild<P>,
  reason: ExitReason,
  ranForMs: number,
  { at, roll }: { readonly at: number; readonly roll: number },
): readonly DynamicEffect<P>[] {
  const { config } = state;
  const history = { attempts: child.attempts, ranForMs };
  const decision = countRestart(config, state.restarts, history, at, roll);
  const { intensityLeft, delayMs } = decision;
  state.restarts = decision.restarts;
  child.attempts = decision.attempts;
  child.failure = reason;
  const { id } = config.spec;
  const report: DynamicEffect<P> = {
    type: "report-restart",
    key: child.key,
    restart: { id, reason, strategy: "one_for_one", siblings: [], intensityLeft, delayMs },
  };
  if (intensityLeft < 0) {
    forget(state, child);
    return [report, ...close(state, SHUTDOWN)];
  }
  return [
    report,
    config.backoff === undefined ? start(child) : { type: "resume-after", key: child.key, delayMs },
  ];
}

/** Stops all children at the same time, within one shutdown time that they share. */
function close<P>(state: DynamicState<P>, reason: ExitReason): readonly DynamicEffect<P>[] {
  if (state.closing !== undefined) return NOTHING;
  state.closing = reason;
  const { shutdown } = state.config.spec;
  state.orders = Queue.of([...state.children.values()].filter((child) => child.stopping === undefined));
  const orders = goOn(state);
  if (shutdown === "brutal_kill" || shutdown === Number.POSITIVE_INFINITY) return orders;
  return [{ type: "time-up-after", delayMs: shutdown }, ...orders];
}

/** Gives the next orders. */
function goOn<P>(state: DynamicState<P>): readonly DynamicEffect<P>[] {
  const { children, timeIsUp } = state;
  const { shutdown } = state.config.spec;
  const effects: DynamicEffect<P>[] = [];
  for (let left = AT_ONCE; left > 0 && state.orders.length > 0; left--) {
    const child = state.orders.first as DynamicChild<P>;
    state.orders = state.orders.withoutFirst();
    if (!children.has(child.key)) continue;
    const { pid } = child;
    if (pid === undefined) forget(state, child);
    else if (timeIsUp) effects.push({ type: "kill", pid });
    else if (child.starting) effects.push({ type: "abort-start", pid });
    else effects.push({ type: shutdown === "brutal_kill" ? "kill" : "shut-down", pid });
  }
  if (state.orders.length > 0) effects.push({ type: "go-on" });
  return andEnd(state, effects);
}

/** Ends the supervisor when it is closing and has no child left. */
function andEnd<P>(state: DynamicState<P>, effects: DynamicEffect<P>[]): readonly DynamicEffect<P>[] {
  if (state.closing !== undefined && state.children.size === 0)
    effects.push({ type: "exit", reason: state.closing });
  return effects;
}

function forget<P>(state: DynamicState<P>, child: DynamicChild<P>): void {
  state.children.delete(child.key);
  if (child.pid !== undefined) state.byPid.delete(child.pid);
  if (child.former !== undefined) state.byPid.delete(child.former);
}
