// The processor of one route on one host: which messages it asks for, when its workers get them, and what stops it.
//
//   want ──▶ arrived ──▶ buffer ──permit──▶ worker ──▶ outcome ──▶ step of the ledger ──▶ committed
//
//   prefetch       buffer + asked for + with workers <= prefetch
//   concurrency    workers with work <= limit <= concurrency; each holds one permit of the gates while it has work
//   fan-out        no worker gets work while `publishing` (children that are not committed) is at the limit
//   high water     no worker gets work while a queue that the route publishes to is above its mark
//
// A worker gets a run of messages where only one worker is allowed, else one message at a time. It works on one after another, and
// its outcomes come in that order. A worker that exits gives back what it had not begun; the message at hand counts as an attempt.
// Batches that are due go before messages, and are work like them: one batch occupies one worker and one permit.
// The buffer and the runs are changed in place: a state is used once.

import { InvariantError } from "../../process/errors.js";
import type { Item } from "../definition/adapter.js";
import type { Message } from "../ledger/ledger.js";
import type { CallRecord } from "../ledger/lineage.js";

/** Most messages that a worker gets at a time. */
export const MOST_AT_ONCE = 64;

export interface ProcessorConfig {
  /** Most workers. */
  readonly concurrency: number;
  /** Most workers at first. Default: `concurrency`. */
  readonly first?: number;
  readonly prefetch: number;
  /** Most children that are submitted and not committed. */
  readonly fanOut: number;
}

/** The state of a worker: `entering` waits for a permit of the gates. */
export type WorkerState =
  | { readonly type: "idle" }
  | { readonly type: "entering" }
  | { readonly type: "working"; readonly messages: readonly Message[]; done: number }
  | { readonly type: "batching"; readonly batch: Batch };

/** Messages that a batch adapter gets together, with their values. */
export interface Batch {
  /** The key that they have in common, if batches are made by key. */
  readonly key: string | undefined;
  readonly members: readonly Member[];
}

/** A message of a batch. */
export interface Member {
  readonly message: Message;
  /** The results of the adapters before the batch. */
  readonly items: readonly Item<unknown>[];
  readonly calls: readonly CallRecord[] | undefined;
}

export interface ProcessorState {
  readonly config: ProcessorConfig;
  /** Most workers at this time: at most `concurrency`, less where latency asks for it. */
  limit: number;
  /** Most workers with work that the breakers of the adapters allow. */
  admits: number;
  readonly buffer: Message[];
  /** Batches that are due. */
  readonly batches: Batch[];
  /** Asked for, and not arrived. */
  asked: number;
  readonly workers: Map<number, WorkerState>;
  /** Messages of workers that have no outcome yet. */
  inWork: number;
  /** Batches of workers that have no outcome yet. */
  batching: number;
  /** Children that are submitted and not committed. */
  publishing: number;
  /** Queues above their mark. */
  readonly above: Set<string>;
  phase: "running" | "paused" | "stopping" | "stopped";
  nextWorker: number;
}

export type ProcessorEvent =
  | { readonly type: "start" }
  | { readonly type: "arrived"; readonly messages: readonly Message[] }
  /** A worker may begin. */
  | { readonly type: "entered"; readonly worker: number }
  /** The outcomes of a worker's next messages are submitted to the ledger, with so many children. */
  | {
      readonly type: "worked";
      readonly worker: number;
      readonly count: number;
      readonly children: number;
    }
  /** Batches are due. */
  | { readonly type: "batches"; readonly batches: readonly Batch[] }
  /** The outcome of a worker's batch is submitted to the ledger, with so many children. */
  | { readonly type: "batched"; readonly worker: number; readonly children: number }
  /** A breaker did not admit the work at hand of a worker: that goes back, with the work that it has not begun. */
  | { readonly type: "returned"; readonly worker: number }
  /** At most so many workers may have work while a breaker is not closed. */
  | { readonly type: "admit"; readonly most: number }
  /** A worker has exited. */
  | { readonly type: "down"; readonly worker: number }
  /** Children of this route are committed, or are refused. */
  | { readonly type: "published"; readonly children: number }
  /** A queue that the route publishes to has reached its mark. */
  | { readonly type: "above"; readonly queue: string }
  | { readonly type: "drained"; readonly queue: string }
  | { readonly type: "limit"; readonly limit: number }
  | { readonly type: "pause" }
  | { readonly type: "resume" }
  | { readonly type: "stop" };

export type ProcessorEffect =
  /** Asks the ledger for so many further messages. */
  | { readonly type: "want"; readonly count: number }
  /** Asks the gates for a permit for a worker, which is spawned first if it is not there. */
  | { readonly type: "enter"; readonly worker: number }
  /** Gives the permit of a worker back. */
  | { readonly type: "leave"; readonly worker: number }
  | { readonly type: "assign"; readonly worker: number; readonly messages: readonly Message[] }
  | { readonly type: "assign batch"; readonly worker: number; readonly batch: Batch }
  /** The message that a worker had at hand when it exited: an attempt of it has failed. */
  | { readonly type: "crashed"; readonly message: Message }
  /** The same for a batch. */
  | { readonly type: "batch crashed"; readonly batch: Batch }
  /** Waits for a queue to fall below its mark. */
  | { readonly type: "await below"; readonly queue: string }
  /** No worker has work, and none gets any. */
  | { readonly type: "stopped" };

export function initial(config: ProcessorConfig): ProcessorState {
  return {
    config,
    limit: config.first ?? config.concurrency,
    admits: Number.POSITIVE_INFINITY,
    buffer: [],
    batches: [],
    asked: 0,
    workers: new Map(),
    inWork: 0,
    batching: 0,
    publishing: 0,
    above: new Set(),
    phase: "running",
    nextWorker: 0,
  };
}

export function decide(
  state: ProcessorState,
  event: ProcessorEvent,
): [ProcessorState, readonly ProcessorEffect[]] {
  const effects: ProcessorEffect[] = [];
  take(state, event, effects);
  advance(state, effects);
  return [state, effects];
}

function take(state: ProcessorState, event: ProcessorEvent, effects: ProcessorEffect[]): void {
  switch (event.type) {
    case "start":
      return;
    case "arrived":
      state.asked -= event.messages.length;
      if (state.asked < 0) throw new InvariantError("no more messages arrive than were asked for");
      for (const message of event.messages) state.buffer.push(message);
      return;
    case "entered":
      entered(state, event.worker, effects);
      return;
    case "worked":
      worked(state, event.worker, event.count, effects);
      state.publishing += event.children;
      return;
    case "batches":
      state.batches.push(...event.batches);
      return;
    case "batched":
      batched(state, event.worker, effects);
      state.publishing += event.children;
      return;
    case "returned":
      returned(state, event.worker, effects);
      return;
    case "admit":
      state.admits = event.most;
      return;
    case "down":
      down(state, event.worker, effects);
      return;
    case "published":
      state.publishing -= event.children;
      return;
    case "above":
      if (state.above.has(event.queue)) return;
      state.above.add(event.queue);
      effects.push({ type: "await below", queue: event.queue });
      return;
    case "drained":
      state.above.delete(event.queue);
      return;
    case "limit":
      state.limit = Math.max(1, Math.min(state.config.concurrency, event.limit));
      return;
    case "pause":
      if (state.phase === "running") state.phase = "paused";
      return;
    case "resume":
      if (state.phase === "paused") state.phase = "running";
      return;
    case "stop":
      if (state.phase !== "stopped") state.phase = "stopping";
      return;
    default:
      event satisfies never;
  }
}

/** How many workers have work. */
export function working({ workers }: ProcessorState): number {
  let count = 0;
  for (const { type } of workers.values()) if (type === "working" || type === "batching") count++;
  return count;
}

/** Whether the breakers admit no further worker. */
function isRefused(state: ProcessorState): boolean {
  return state.admits < Number.POSITIVE_INFINITY && working(state) >= state.admits;
}

/** Whether a worker may get work now. */
function isOpen({ phase, above, publishing, config }: ProcessorState): boolean {
  return phase === "running" && above.size === 0 && publishing < config.fanOut;
}

function entered(state: ProcessorState, worker: number, effects: ProcessorEffect[]): void {
  if (state.workers.get(worker)?.type !== "entering") return;
  const { buffer, batches } = state;
  if (!isOpen(state) || isRefused(state) || buffer.length + batches.length === 0) {
    // Something has changed since it asked: it holds no permit while it has nothing to do.
    state.workers.set(worker, { type: "idle" });
    effects.push({ type: "leave", worker });
    return;
  }
  const batch = batches.shift();
  if (batch !== undefined) {
    state.workers.set(worker, { type: "batching", batch });
    state.batching++;
    effects.push({ type: "assign batch", worker, batch });
    return;
  }
  const messages = state.config.concurrency === 1 ? runOf(state) : [buffer.shift() as Message];
  state.workers.set(worker, { type: "working", messages, done: 0 });
  state.inWork += messages.length;
  effects.push({ type: "assign", worker, messages });
}

/** The messages of an only worker. */
function runOf({ buffer, config, publishing }: ProcessorState): Message[] {
  const room = Math.max(1, config.fanOut - publishing);
  return buffer.splice(0, Math.min(MOST_AT_ONCE, room));
}

function worked(state: ProcessorState, worker: number, count: number, effects: ProcessorEffect[]): void {
  const at = state.workers.get(worker);
  if (at?.type !== "working" || at.done + count > at.messages.length)
    throw new InvariantError("a worker has outcomes of messages that it was given");
  at.done += count;
  state.inWork -= count;
  if (at.done < at.messages.length) return;
  state.workers.set(worker, { type: "idle" });
  effects.push({ type: "leave", worker });
}

function batched(state: ProcessorState, worker: number, effects: ProcessorEffect[]): void {
  if (state.workers.get(worker)?.type !== "batching")
    throw new InvariantError("a worker has an outcome of the batch that it was given");
  state.batching--;
  state.workers.set(worker, { type: "idle" });
  effects.push({ type: "leave", worker });
}

/** The order of its messages stays: it had the first ones. */
function returned(state: ProcessorState, worker: number, effects: ProcessorEffect[]): void {
  const at = state.workers.get(worker);
  if (at?.type === "batching") {
    state.batching--;
    state.batches.unshift(at.batch);
  } else if (at?.type === "working") {
    const back = at.messages.slice(at.done);
    state.inWork -= back.length;
    state.buffer.unshift(...back);
  } else throw new InvariantError("a worker gives back what it was given");
  state.workers.set(worker, { type: "idle" });
  effects.push({ type: "leave", worker });
}

function down(state: ProcessorState, worker: number, effects: ProcessorEffect[]): void {
  const at = state.workers.get(worker);
  state.workers.delete(worker);
  // The gates give its permit back by its EXIT.
  if (at?.type === "batching") {
    state.batching--;
    effects.push({ type: "batch crashed", batch: at.batch });
  }
  if (at?.type !== "working") return;
  const [atHand, ...rest] = at.messages.slice(at.done);
  state.inWork -= rest.length + 1;
  state.buffer.unshift(...rest);
  if (atHand !== undefined) effects.push({ type: "crashed", message: atHand });
}

/** Gives work to the workers that may have it, and asks for more. */
function advance(state: ProcessorState, effects: ProcessorEffect[]): void {
  const { workers, buffer, batches, config } = state;
  if (state.phase === "stopping") {
    if (state.inWork + state.batching > 0) return;
    state.phase = "stopped";
    effects.push({ type: "stopped" });
    return;
  }
  if (isOpen(state)) {
    let busy = 0;
    let entering = 0;
    for (const { type } of workers.values()) {
      if (type !== "idle") busy++;
      if (type === "entering") entering++;
    }
    // Each that enters takes one message at least.
    const work = buffer.length + batches.length;
    const most = Math.min(state.limit, state.admits);
    for (; busy < most && entering < work; busy++, entering++) {
      const worker = idleWorker(state);
      workers.set(worker, { type: "entering" });
      effects.push({ type: "enter", worker });
    }
  }
  const room = config.prefetch - buffer.length - state.asked - state.inWork;
  // In larger portions: else each message that is done would ask for one.
  const isLow = buffer.length === 0 && state.asked === 0;
  if (state.phase === "running" && (room >= config.prefetch / 2 || (room > 0 && isLow))) {
    state.asked += room;
    effects.push({ type: "want", count: room });
  }
}

function idleWorker(state: ProcessorState): number {
  for (const [worker, { type }] of state.workers) if (type === "idle") return worker;
  return state.nextWorker++;
}
