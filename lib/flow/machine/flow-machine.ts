// A flow's transition: which asks run, which outcomes are written in which order, and when the code sees them. Pure: no clock,
// no randomness, no I/O. The state is changed in place, for speed: a step costs three events.
//
// Rules. (1) The code sees an outcome only after its entry is durable. (2) It sees one outcome at a time, and runs as far as it
// can before the next: so the order of outcomes, which the journal keeps, is all that races depend on. (3) At most one write of a
// flow is in flight. (4) On replay the i-th ask must be the i-th recorded ask.

import type { Ask, Decision, Entry, Stored } from "../journal/entry.js";
import type { Deviation, FlowEffect, FlowEvent, FlowState, Item, Op, UnreadMessage } from "./state.js";

type EventOf<T> = FlowEvent & { readonly type: T };

/** No effects yet: a list is made for the first one. */
const NONE: FlowEffect[] = [];

/** The state of a flow whose code is about to run over these entries, with these messages unread. */
export function initial(history: readonly Entry[], messages: readonly UnreadMessage[] = []): FlowState {
  const state: FlowState = {
    phase: history.length > 0 ? "replaying" : "running",
    caughtUp: false,
    history,
    recorded: history.flatMap(({ asks }) => asks),
    expected: history[0]?.asks.length ?? 0,
    cursor: 0,
    asked: 0,
    seq: history.length,
    unrecorded: [],
    ops: new Map(),
    rejected: new Set(),
    outbox: [],
    writing: undefined,
    committing: [],
    transacting: undefined,
    ready: [],
    draining: true,
    unread: new Map(),
    lastMessage: 0,
    waits: new Map(),
    running: 0,
    timer: undefined,
    cancelled: false,
    held: undefined,
    ending: undefined,
    quiet: false,
    effects: NONE,
  };
  sort(state, messages);
  return state;
}

/** One transition. `state` is changed and returned. */
export function decide(state: FlowState, event: FlowEvent): [FlowState, readonly FlowEffect[]] {
  if (state.phase === "ended") return [state, NONE];
  // A transition that threw may have left some.
  state.effects = NONE;
  take(state, event);
  pump(state);
  const { effects } = state;
  state.effects = NONE;
  return [state, effects];
}

function take(state: FlowState, event: FlowEvent): void {
  switch (event.type) {
    case "asked":
      asked(state, event);
      return;
    case "versioned":
      versioned(state, event);
      return;
    case "drained":
      drained(state, event.now);
      return;
    case "waited":
      waited(state);
      return;
    case "ran":
      ran(state, event);
      return;
    case "prepared":
      prepared(state, event.key);
      return;
    case "transacted":
      transacted(state, event);
      return;
    case "written":
      written(state, event.at);
      return;
    case "mail":
      sort(state, event.messages);
      if (isLive(state)) for (const topic of state.waits.keys()) match(state, topic);
      return;
    case "due":
      state.timer = undefined;
      due(state, event.now);
      return;
    case "threw":
      isBehind(state, "throws");
      return;
    case "returned":
      returned(state, event.ending);
      return;
    case "cancel":
      if (!isCancelled(state) && state.ending === undefined) {
        state.cancelled = true;
        state.outbox.push({ decision: { type: "cancelled" }, value: null });
      }
      return;
    case "kill":
      state.ending = {
        status: "killed",
        value: null,
        ...(event.note === undefined ? {} : { note: event.note }),
      };
      state.outbox = [];
      if (!isWriting(state)) state.phase = "finishing";
      return;
    case "hold":
      state.held = event.why;
      return;
    case "idle":
      if (isQuiet(state)) park(state, "idle");
      return;
    default:
      event satisfies never;
  }
}

/** The code has been cancelled, or will be by what is recorded. */
const isCancelled = ({ cancelled, history }: FlowState): boolean =>
  cancelled || history.some(({ decision }) => decision.type === "cancelled");

/** At most one write of a flow is in flight. */
const isWriting = (state: FlowState): boolean =>
  state.writing !== undefined || state.transacting !== undefined;

const isLive = (state: FlowState): boolean => state.phase === "running" && state.held === undefined;

// ── asks ────────────────────────────────────────────────────────────────────────────────────────────────────────

function asked(state: FlowState, { kind, key, how, now }: EventOf<"asked">): void {
  const ask: Ask = { kind, key };
  skipVersions(state);
  const recorded = state.recorded[state.asked];
  if (recorded === undefined) state.unrecorded = withOneMore(state.unrecorded, ask);
  else if (recorded.kind !== kind || recorded.key !== key) {
    diverge(state, "asks", recorded, ask);
    return;
  }
  state.asked++;
  const op: Op = { kind, key, how, status: "asked", failures: 0, due: undefined };
  state.ops.set(key, op);
  if (how.type === "wait") listOf(state.waits, how.topic).push(key);
  if (state.phase === "replaying") {
    // The replay waits for asks: it goes on when the code has made all that it makes now.
    if (!state.draining) {
      state.draining = true;
      emit(state, { type: "drain" });
    }
  } else if (isLive(state)) activate(state, op, now);
}

/** Code whose `version` was removed: the recorded answer is passed over, if it is among the first `most` asks. */
function skipVersions(state: FlowState, most = Number.POSITIVE_INFINITY): void {
  while (state.asked < most && state.recorded[state.asked]?.kind === "version") state.asked++;
}

function versioned(state: FlowState, { key, from, to }: EventOf<"versioned">): void {
  const recorded = state.recorded[state.asked];
  if (recorded === undefined) {
    state.unrecorded.push({ kind: "version", key, answer: to });
    state.asked++;
    emit(state, { type: "answer", version: to });
  } else if (recorded.kind === "version" && recorded.key === key) {
    state.asked++;
    emit(state, { type: "answer", version: recorded.answer as number });
  } else emit(state, { type: "answer", version: from });
}

function activate(state: FlowState, op: Op, now: number): void {
  const { how, key } = op;
  switch (how.type) {
    case "run":
      if (op.due !== undefined && op.due > now) {
        alarm(state, op.due);
        return;
      }
      run(state, op);
      return;
    case "wait":
      if (how.prepares && op.status === "asked") {
        begin(state, op, after(how.withinMs, now));
        return;
      }
      if (op.due !== undefined) alarm(state, op.due);
      match(state, how.topic);
      if (how.withinMs !== undefined && op.status === "asked") begin(state, op, after(how.withinMs, now));
      return;
    case "sleep":
      if (op.due !== undefined) {
        alarm(state, op.due);
        return;
      }
      begin(state, op, "ms" in how.until ? now + how.until.ms : how.until.moment);
      return;
    case "write":
      settle(state, op, { type: "done", key, ok: true }, how.value);
      return;
    default:
      how satisfies never;
  }
}

const after = (ms: number | undefined, now: number): number | undefined =>
  ms === undefined ? undefined : now + ms;

function begin(state: FlowState, op: Op, due: number | undefined): void {
  op.status = "beginning";
  op.due = due;
  state.outbox.push({ decision: { type: "begun", key: op.key, due }, value: null });
}

function run(state: FlowState, op: Op): void {
  op.status = "running";
  op.due = undefined;
  state.running++;
  emit(state, { type: "run", key: op.key, attempt: op.failures + 1 });
}

function settle(state: FlowState, op: Op, decision: Decision, value: Stored): void {
  op.status = "decided";
  op.due = undefined;
  state.outbox = withOneMore(state.outbox, { decision, value });
}

function emit(state: FlowState, effect: FlowEffect): void {
  state.effects = withOneMore(state.effects, effect);
}

/** Mostly the list stays at one, and is made at that size: a push to an empty list reserves seventeen places. */
function withOneMore<T>(list: T[], one: T): T[] {
  if (list.length === 0) return [one];
  list.push(one);
  return list;
}

// ── outcomes ────────────────────────────────────────────────────────────────────────────────────────────────────

function ran(state: FlowState, { key, ok, value, retryAt }: EventOf<"ran">): void {
  const op = state.ops.get(key);
  if (op?.status !== "running") return;
  state.running--;
  if (state.transacting?.key === key) {
    // The transaction failed in its commit: its turn is over, and nothing was written.
    state.unrecorded.unshift(...state.transacting.asks);
    state.transacting = undefined;
  }
  if (retryAt === undefined) {
    settle(state, op, { type: "done", key, ok }, value);
    return;
  }
  op.failures++;
  op.status = "decided";
  state.outbox.push({ decision: { type: "failed", key, attempt: op.failures, due: retryAt }, value });
}

function prepared(state: FlowState, key: string): void {
  const { transacting, seq } = state;
  // Its first commit was overtaken by another writer's: the turn is still its own.
  if (transacting?.key === key) emit(state, { type: "transact", key, seq, asks: transacting.asks });
  else if (state.ops.get(key)?.status === "running") state.committing.push(key);
}

function transacted(state: FlowState, { key, value, at }: EventOf<"transacted">): void {
  state.transacting = undefined;
  state.seq++;
  if (state.ending !== undefined) state.phase = "finishing";
  const op = state.ops.get(key);
  if (op === undefined) return;
  state.running--;
  op.status = "decided";
  state.ready.push({ decision: { type: "done", key, ok: true }, value, at });
}

function written(state: FlowState, at: number): void {
  const items = state.writing ?? [];
  state.writing = undefined;
  state.seq += items.length;
  if (state.phase === "finishing" && state.ending !== undefined) {
    state.phase = "ended";
    emit(state, { type: "timer", due: undefined });
    emit(state, { type: "ended", ending: state.ending });
    return;
  }
  if (state.ending !== undefined) state.phase = "finishing";
  for (const item of items) {
    const { decision, value } = item;
    if (decision.type === "done" || decision.type === "cancelled") state.ready.push({ decision, value, at });
    else began(state, decision);
  }
}

/** A begin or a failed attempt is durable. */
function began(state: FlowState, decision: Decision & { readonly type: "begun" | "failed" }): void {
  const op = state.ops.get(decision.key);
  if (op === undefined || (op.status === "decided" && decision.type === "begun")) return;
  if (decision.type === "begun") op.status = "begun";
  else op.status = "asked";
  op.due = decision.due;
  if (op.due !== undefined) alarm(state, op.due);
  if (op.how.type === "wait") match(state, op.how.topic);
}

function due(state: FlowState, now: number): void {
  if (!isLive(state)) return;
  let next: number | undefined;
  for (const op of state.ops.values()) {
    if (op.due === undefined || op.status === "beginning" || op.status === "decided") continue;
    if (op.due > now) next = Math.min(next ?? op.due, op.due);
    else if (op.how.type === "run") run(state, op);
    else {
      if (op.how.type === "wait") forget(state, op.how.topic, op.key);
      settle(state, op, { type: "done", key: op.key, ok: true }, null);
    }
  }
  if (next !== undefined) alarm(state, next);
}

function alarm(state: FlowState, at: number): void {
  if (state.timer !== undefined && state.timer <= at) return;
  state.timer = at;
  emit(state, { type: "timer", due: at });
}

// ── mail ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Takes messages in, by topic. Messages come in the order of their positions; one that was seen is not new. */
function sort(state: FlowState, messages: readonly UnreadMessage[]): void {
  for (const message of messages) {
    if (message.position <= state.lastMessage) continue;
    state.lastMessage = message.position;
    listOf(state.unread, message.topic).push(message);
  }
}

/** Gives the oldest messages of a topic to the oldest waits. A wait whose begin is not durable yet gets none. */
function match(state: FlowState, topic: string): void {
  const messages = state.unread.get(topic);
  const waits = state.waits.get(topic);
  while (messages !== undefined && waits !== undefined && messages.length > 0 && waits.length > 0) {
    const op = state.ops.get(waits[0] as string) as Op;
    if (op.status === "beginning") return;
    waits.shift();
    const { position, value } = messages.shift() as UnreadMessage;
    settle(state, op, { type: "done", key: op.key, ok: true, mail: position }, value);
  }
  if (messages?.length === 0) state.unread.delete(topic);
  if (waits?.length === 0) state.waits.delete(topic);
}

function forget(state: FlowState, topic: string, key: string): void {
  const waits = state.waits.get(topic);
  const index = waits?.indexOf(key) ?? -1;
  if (waits === undefined || index < 0) return;
  waits.splice(index, 1);
  if (waits.length === 0) state.waits.delete(topic);
}

function listOf<T>(map: Map<string, T[]>, key: string): T[] {
  const list = map.get(key) ?? [];
  if (list.length === 0) map.set(key, list);
  return list;
}

// ── replay ──────────────────────────────────────────────────────────────────────────────────────────────────────

function drained(state: FlowState, now: number): void {
  state.draining = false;
  if (state.phase === "replaying") replay(state, now);
  else if (!state.caughtUp) catchUp(state);
}

/** The code has done all that it can: gives it the next recorded outcome, or goes live. */
function replay(state: FlowState, now: number): void {
  while (state.cursor < state.history.length) {
    const { at, decision, value } = state.history[state.cursor] as Entry;
    skipVersions(state, state.expected);
    if (state.asked < state.expected) {
      emit(state, { type: "stalled" });
      return;
    }
    state.cursor++;
    state.expected += state.history[state.cursor]?.asks.length ?? 0;
    if (recall(state, decision, value, at)) return;
  }
  state.phase = "running";
  catchUp(state);
  for (const op of [...state.ops.values()]) if (isLive(state)) activate(state, op, now);
}

function catchUp(state: FlowState): void {
  state.caughtUp = true;
  emit(state, { type: "caught up" });
}

function waited(state: FlowState): void {
  if (state.phase === "replaying") diverge(state, "waits", state.recorded[state.asked], undefined);
}

/** One recorded decision. True: the code sees it, and runs. */
function recall(state: FlowState, decision: Decision, value: Stored, at: number): boolean {
  if (decision.type === "cancelled") {
    state.cancelled = true;
    return deliver(state, { decision, value, at });
  }
  const op = state.ops.get(decision.key);
  if (op === undefined) {
    if (!state.rejected.has(decision.key))
      diverge(state, "waits", { kind: "outcome", key: decision.key }, undefined);
    return !state.rejected.has(decision.key);
  }
  if (decision.type === "done") return deliver(state, { decision, value, at });
  op.due = decision.due;
  if (decision.type === "begun") op.status = "begun";
  else op.failures = decision.attempt;
  return false;
}

function diverge(state: FlowState, did: Deviation, recorded: Ask | undefined, ask: Ask | undefined): void {
  state.phase = "ended";
  emit(state, { type: "diverged", recorded, asked: ask, entry: state.cursor, did, last: lastAsk(state) });
}

function lastAsk({ recorded, asked, unrecorded }: FlowState): Ask | undefined {
  return [...recorded.slice(0, asked), ...unrecorded].findLast(({ kind }) => kind !== "version");
}

/** Hands an outcome to the code. False: the code does not wait for it any more. */
function deliver(state: FlowState, { decision, value, at }: Item & { at: number }): boolean {
  if (decision.type === "cancelled") {
    const keys = [...state.ops.keys()];
    for (const key of keys) state.rejected.add(key);
    state.ops.clear();
    state.waits.clear();
    state.committing.length = 0;
    state.running = 0;
    emit(state, { type: "reject", keys, at });
  } else if (decision.type === "done") {
    const op = state.ops.get(decision.key);
    if (op === undefined) return false;
    state.ops.delete(decision.key);
    if (op.how.type === "wait") forget(state, op.how.topic, op.key);
    emit(state, { type: "deliver", key: decision.key, ok: decision.ok, value, at });
  }
  state.draining = true;
  return true;
}

// ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The code is over. True: it has not made all recorded asks. */
function isBehind(state: FlowState, did: Deviation): boolean {
  if (state.ending !== undefined) return false;
  skipVersions(state);
  if (state.asked >= state.recorded.length) return false;
  diverge(state, did, state.recorded[state.asked], undefined);
  return true;
}

function returned(state: FlowState, ending: FlowState["ending"]): void {
  if (state.ending !== undefined || isBehind(state, "returns")) return;
  state.ending = ending;
  // Sends that the code did not await are part of the end. All other asks that still run or wait are given up.
  for (const op of state.ops.values()) {
    if (op.status !== "asked") continue;
    if (op.how.type === "write") settle(state, op, { type: "done", key: op.key, ok: true }, op.how.value);
    else if (op.how.type === "wait" && op.how.prepares) begin(state, op, undefined);
  }
  if (!isWriting(state)) state.phase = "finishing";
}

function park(state: FlowState, why: "idle" | "pause" | "stop"): void {
  let earliest: number | undefined;
  for (const { due: at } of state.ops.values()) if (at !== undefined) earliest = Math.min(earliest ?? at, at);
  emit(state, { type: "park", due: earliest, why });
}

/** Whether nothing happens until mail, time or an outside event. */
function isQuiet(state: FlowState): boolean {
  return (
    state.phase === "running" &&
    state.running === 0 &&
    !state.draining &&
    !isWriting(state) &&
    state.outbox.length === 0 &&
    state.ready.length === 0 &&
    state.ops.size > 0
  );
}

/** Does the next thing that the state allows: a write, a delivery, the end, leaving memory. */
function pump(state: FlowState): void {
  if (state.phase === "ended" || state.phase === "replaying") return;
  if (!isWriting(state)) write(state);
  while (state.phase === "running" && !state.draining && state.ready.length > 0 && state.ending === undefined)
    if (deliver(state, state.ready.shift() as Item & { at: number })) break;
  const quiet = isQuiet(state);
  if (quiet && state.held !== undefined) park(state, state.held);
  else if (quiet !== state.quiet) {
    state.quiet = quiet;
    emit(state, { type: "quiet", quiet });
  }
}

function write(state: FlowState): void {
  const { phase, seq, outbox, ending, unrecorded: asks } = state;
  if (phase === "finishing" && ending !== undefined) {
    const items = outbox.filter(({ decision }) => decision.type !== "failed");
    state.outbox = [];
    state.unrecorded = [];
    state.writing = items;
    emit(state, { type: "finish", seq, items, asks, ending });
    return;
  }
  const key = state.committing.shift();
  if (key !== undefined) {
    state.transacting = { key, asks };
    state.unrecorded = [];
    emit(state, { type: "transact", key, seq, asks });
  } else if (outbox.length > 0) {
    state.outbox = [];
    state.unrecorded = [];
    state.writing = outbox;
    emit(state, { type: "write", seq, items: outbox, asks });
  }
}
