// A dynamic supervisor as a state machine: children of one kind, added on demand, restarted one by one, and stopped
// together. `P` is what the process around the machine identifies a running child by: a pid.
//
//   add ─▶ starting ─started─▶ running ─exited─▶ restarting ─▶ starting …
//             │ failed, ignored    │ terminate        │ terminate
//             ▼                    ▼                  ▼
//           gone               stopping ─exited─▶   gone
//
// A child may have a name. It keeps the name until it is gone, so one child at most has it. A request to start or get the child
// of a name creates it when there is none, and is answered at once when the child runs. In all other states of the child the request
// waits with the child:
//
//   - the child comes up (`started`): all that wait get its process;
//   - its first start fails or is ignored: all that wait get that outcome, like the request that started the child;
//   - the child is gone for another reason: all that wait are asked again, in order. The first one starts a new child.
//
// For speed the tables of children are updated in place: a state that was given to `decide` must not be used again. The
// machine stays deterministic, and reads no clock and no randomness.

import { type ExitReason, isOrderly, SHUTDOWN } from "../process/reason.js";
import type { SoleName } from "../process/via.js";
import { ByName } from "./child-name.js";
import type {
  DynamicChild,
  DynamicConfig,
  DynamicEffect,
  DynamicEvent,
  DynamicState,
} from "./dynamic-protocol.js";
import type { Answer } from "./protocol.js";
import { Queue } from "./queue.js";
import { countRestart, isRestarted } from "./restart-rule.js";

/** A supervisor gives orders to this many children, or answers this many requests, at a time: the host runs in between. */
export const AT_ONCE = 250;

const NOTHING: readonly never[] = [];

export function initial<P>(config: DynamicConfig): DynamicState<P> {
  return {
    config,
    children: new Map(),
    byPid: new Map(),
    byName: new ByName(),
    restarts: Queue.of(),
    closing: undefined,
    orders: Queue.of(),
    timeIsUp: false,
    lastKey: 0,
    changed: undefined,
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
      return add(state, event);
    case "terminate":
      return terminate(state, event);
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
    case "withdrawn":
      child.waiting?.delete(event.token);
      return NOTHING;
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

/** The process that has a name, as far as the supervisor knows. It may have ended: then its end is still to be handled. */
export function holderOf<P>(state: DynamicState<P>, name: SoleName): P | undefined {
  return state.byName.get(name)?.pid;
}

function add<P>(
  state: DynamicState<P>,
  { token, args, name, orGet = false, isDead = false }: Extract<DynamicEvent<P>, { type: "add" }>,
): readonly DynamicEffect<P>[] {
  // The end of the supervisor answers the request.
  if (state.closing !== undefined) return NOTHING;
  const holder = name?.sole === undefined ? undefined : state.byName.get(name.sole);
  if (holder !== undefined)
    return orGet ? get(holder, token, isDead) : [{ type: "refuse", token, why: "already_started" }];
  if (state.children.size >= state.config.maxChildren)
    return [{ type: "refuse", token, why: "max_children" }];
  const child: DynamicChild<P> = {
    key: String(++state.lastKey),
    args,
    name,
    pid: undefined,
    former: undefined,
    starting: true,
    asker: token,
    stopping: undefined,
    waiting: undefined,
    since: 0,
    attempts: 0,
    failure: SHUTDOWN,
  };
  state.children.set(child.key, child);
  if (name?.sole !== undefined) state.byName.set(name.sole, child);
  return [start(child)];
}

/** A request asks for a child that exists. */
function get<P>(child: DynamicChild<P>, token: number, isDead: boolean): readonly DynamicEffect<P>[] {
  const { key, pid, starting, stopping } = child;
  if (pid !== undefined && !starting && stopping === undefined && !isDead)
    return [{ type: "answer", token, answer: { ok: true, pid } }];
  child.waiting ??= new Set();
  child.waiting.add(token);
  return [{ type: "hold", key, token }];
}

function start<P>(child: DynamicChild<P>): DynamicEffect<P> {
  child.starting = true;
  return { type: "start", key: child.key, args: child.args, name: child.name };
}

function started<P>(state: DynamicState<P>, child: DynamicChild<P>, at: number): readonly DynamicEffect<P>[] {
  const { asker } = child;
  state.changed?.push({ child, isNew: asker !== undefined });
  child.asker = undefined;
  child.starting = false;
  child.since = at;
  if (child.former !== undefined) state.byPid.delete(child.former);
  child.former = undefined;
  if (asker === undefined && child.waiting === undefined) return NOTHING;
  return answers(child, asker, { ok: true, pid: child.pid });
}

/** Answers the request that started a child, and all that wait with the child. */
function answers<P>(
  child: DynamicChild<P>,
  asker: number | undefined,
  answer: Answer<P>,
): DynamicEffect<P>[] {
  const effects: DynamicEffect<P>[] = [];
  if (asker !== undefined) effects.push({ type: "answer", token: asker, answer });
  if (child.waiting !== undefined) effects.push({ type: "answer-all", tokens: child.waiting, answer });
  child.waiting = undefined;
  return effects;
}

/** The child is gone: requests that still wait with it are asked again. A closing supervisor answers them when it ends. */
function askAgain<P>(
  state: DynamicState<P>,
  { waiting }: DynamicChild<P>,
  effects: DynamicEffect<P>[],
): DynamicEffect<P>[] {
  if (waiting !== undefined && state.closing === undefined)
    effects.push({ type: "ask-again", tokens: waiting });
  return effects;
}

/** A start ended without a running child, and is not tried again. */
function startEnded<P>(
  state: DynamicState<P>,
  child: DynamicChild<P>,
  answer: Answer<P>,
): readonly DynamicEffect<P>[] {
  forget(state, child);
  const { asker, stopping } = child;
  // If no request stopped a first start, all requests that wait for it get its outcome.
  const isShared = asker !== undefined && stopping === undefined;
  const effects = isShared ? answers(child, asker, answer) : [];
  if (asker !== undefined && !isShared) effects.push({ type: "answer", token: asker, answer });
  if (stopping !== undefined) answerStopping(child, stopping, effects);
  return andEnd(state, askAgain(state, child, effects));
}

function terminate<P>(
  state: DynamicState<P>,
  { token, pid, name }: Extract<DynamicEvent<P>, { type: "terminate" }>,
): readonly DynamicEffect<P>[] {
  const named = name && state.byName.get(name);
  const child = named ?? (pid && state.byPid.get(pid));
  if (child === undefined) return [{ type: "answer", token, answer: { ok: false, problem: "not_found" } }];
  if (child.pid === undefined) {
    forget(state, child);
    return askAgain(state, child, [{ type: "answer", token, answer: { ok: true, pid: undefined } }]);
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
    state.changed?.push({ child, isNew: false });
    return restart(state, child, reason, at - child.since, event);
  }
  forget(state, child);
  if (state.closing !== undefined) return andEnd(state, []);
  return askAgain(state, child, isOrderly(reason) ? [] : [{ type: "report-exit", reason }]);
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
  return andEnd(state, askAgain(state, child, effects));
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
  // One that never came up was never seen.
  if (child.asker === undefined) state.changed?.push({ child, isNew: false });
  state.children.delete(child.key);
  if (child.pid !== undefined) state.byPid.delete(child.pid);
  if (child.former !== undefined) state.byPid.delete(child.former);
  if (child.name?.sole !== undefined) state.byName.delete(child.name.sole);
}
