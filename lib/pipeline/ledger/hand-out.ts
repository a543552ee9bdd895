// Hands the messages of an execution's queues out to the routes that asked for them: children that were just committed, pages of rows,
// and retried messages. Rows are read only as far as routes ask; a timer wakes it when the next delayed message is due.
//
// A store of one process: this file alone knows which messages are handed out, and forgets it with the process. A store that several
// processes
// share: rows name the claim of the host that has taken them.

import { Heartbeats } from "../../host/background/heartbeats.js";
import { valueCodec } from "../../host/payload/values.js";
import type { PlaceSignals } from "../../host/signals.js";
import { showThrown } from "../../process/show.js";
import type { Store, Write } from "../../store/index.js";
import type { MessageId } from "../definition/message-id.js";
import { PIPELINE_DEFAULTS } from "../definition/policy.js";
import { sentenceFor } from "../messages/verdict.js";
import type { Message, Publication, Step } from "./ledger.js";
import type { LedgerState } from "./ledger-state.js";
import { type Body, LiveMessage, type LiveMessageFields, type LiveMessagePort } from "./live-message.js";
import { setbackAfter, setbackOf } from "./setback.js";
import { Share } from "./share.js";
import { lateCodec } from "./step-encoding.js";
import { dueOf } from "./step-writes.js";
import { StoreQueue } from "./store-queue.js";
import { type MessageRow, messages, READY } from "./tables.js";

/** What is read before a ledger begins. */
export interface KnownQueue {
  readonly name: string;
  readonly depth: number;
  /** When the first delayed message is due. */
  readonly due: number | undefined;
}

/** What a host has of a queue. A store of one process does not say so in its rows. */
export interface HandedOut {
  readonly known: { readonly size: number; has(id: MessageId): boolean };
  /** All ready messages before this one are known. */
  readonly from: MessageId;
}

const NOTHING: HandedOut = { known: new Set(), from: "" };
const NO_ERRORS: readonly string[] = [];

export class HandOut {
  readonly #ledger: LedgerState;
  readonly #queues = new Map<string, StoreQueue>();
  readonly #unwatch: () => void;
  #cancelTimer: (() => void) | undefined;
  #timerAt: number | undefined;

  constructor(ledger: LedgerState, known: readonly KnownQueue[]) {
    this.#ledger = ledger;
    for (const { name, depth, due } of known) {
      const queue = this.of(name);
      queue.depth = depth;
      queue.due = due;
    }
    this.#unwatch = ledger.blame.watch(() => this.#opened());
  }

  /** What a ledger has to know of a queue before it begins. */
  static async known(store: Store, scope: number, name: string): Promise<KnownQueue> {
    const [depth, [first]] = await Promise.all([
      store.count(messages, { prefix: [scope, name] }),
      store.scan(messages, { prefix: [scope, name], after: READY, limit: 1 }),
    ]);
    return { name, depth, due: first?.lane };
  }

  get #isClosed(): boolean {
    return this.#ledger.phase === "closed";
  }

  of(name: string): StoreQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      const { place, limits } = this.#ledger;
      const share = place.shared ? new Share(this.#ledger.inWork(name), limits.pollMs) : undefined;
      queue = new StoreQueue(name, share);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  /** How many messages this host has taken, or is about to take. */
  get taken(): number {
    let count = 0;
    for (const { known, promised } of this.#queues.values()) count += known.size + promised;
    return count;
  }

  /** What this host holds, and how much more its routes ask for. */
  places(): PlaceSignals {
    const now = this.#ledger.now();
    let room = 0;
    for (const queue of this.#queues.values()) room += Math.max(0, queue.room(now));
    return { room, held: this.taken };
  }

  /** The messages of a queue that this host has taken, and from where on there may be others. */
  handedOut(name: string): HandedOut {
    return this.#isClosed ? NOTHING : this.of(name);
  }

  // ── steps that are committed ─────────────────────────────────────────────────────────────────────────────────

  /** Whether the route has asked for a message of this queue that is about to be committed. If so, it is promised to the route. */
  promise(name: string): boolean {
    // In a store of one process, only the broker's letters say what this host has.
    if (this.#ledger.broker !== undefined && !this.#ledger.place.shared) return false;
    const queue = this.of(name);
    const now = queue.share === undefined ? 0 : this.#ledger.now();
    if (queue.room(now) <= 0) return false;
    queue.wanted--;
    queue.promised++;
    return true;
  }

  /** A promise is not kept. */
  breakPromise(name: string): void {
    const queue = this.of(name);
    queue.wanted++;
    queue.promised--;
  }

  /** The row of a message is gone. */
  settled(message: LiveMessage): void {
    const queue = this.of(message.queue);
    queue.forget(message);
    queue.depth--;
    queue.share?.settled();
  }

  /** A child was committed. Gives it if it was promised, and can be read. */
  published({ id, queue: name, key }: Publication, body: Body, isPromised: boolean): LiveMessage | undefined {
    const queue = this.of(name);
    queue.depth++;
    if (!isPromised) {
      queue.added(id);
      return undefined;
    }
    queue.promised--;
    return this.#loaded(queue, {
      id,
      queue: name,
      key,
      attempts: 0,
      errors: NO_ERRORS,
      lane: READY,
      body,
      ends: 0,
    });
  }

  /** A message is tried again, at once or after a delay. */
  retried({ message: of, delayMs, error, setback }: Extract<Step, { type: "retry" }>, now: number): void {
    const message = of as LiveMessage;
    const queue = this.of(message.queue);
    queue.forget(message);
    if (delayMs > 0) {
      queue.delayed(dueOf(now, delayMs));
      return;
    }
    const next = this.#loaded(queue, {
      ...message,
      attempts: error === undefined ? message.attempts : message.attempts + 1,
      errors: error === undefined ? message.errors : [...message.errors, error],
      setback: setbackAfter(message, error, setback),
      heartbeats: message.beats,
    });
    if (next !== undefined) queue.ready.push(next);
  }

  // ── handing out ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Hands out what is there, reads what is missing, and wakes up for what is due later. */
  serve(): void {
    for (const queue of this.#queues.values()) this.#serve(queue);
    this.#setTimer();
  }

  #serve(queue: StoreQueue): void {
    const ledger = this.#ledger;
    const { listener } = ledger.options;
    const count = Math.min(queue.wanted, queue.ready.length);
    if (count > 0) {
      queue.wanted -= count;
      listener.arrived(queue.name, queue.ready.splice(0, count));
    }
    if (queue.depth < queue.mark) {
      queue.mark = 0;
      listener.drained(queue.name);
    }
    const kind = queue.next(ledger.now());
    if (kind === undefined) return;
    queue.reading = kind;
    const isTaken = ledger.place.shared || ledger.broker !== undefined;
    const reading = isTaken ? this.#take(queue, kind) : this.#read(queue, kind);
    ledger.asked(reading).catch((error: unknown) => {
      queue.unread();
      ledger.lose(error as Error);
    });
  }

  async #read(queue: StoreQueue, kind: "ready" | "delayed"): Promise<void> {
    const { store, place, limits } = this.#ledger;
    const missing = queue.wanted - queue.ready.length;
    // Delayed rows stay where they are while they are worked on, so the page has to reach beyond them.
    const past = kind === "delayed" ? queue.known.size : 0;
    const limit = Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, Math.min(limits.readRows, missing)) + past);
    const scan =
      kind === "ready"
        ? { prefix: [place.scope, queue.name, READY], from: queue.from, limit }
        : { prefix: [place.scope, queue.name], after: READY, limit };
    const rows = await store.scan(messages, scan);
    if (this.#isClosed) return;
    this.#arrive(queue, queue.page(rows, rows.length < limit, this.#ledger.now()));
  }

  async #take(queue: StoreQueue, kind: "ready" | "delayed"): Promise<void> {
    const { store, place, limits, broker } = this.#ledger;
    const { scope, claim } = place;
    const now = this.#ledger.now();
    const limit = Math.min(limits.readRows, queue.room(now));
    if (broker === undefined && kind === "ready" && !queue.isTold && !(await this.#isAnyFree(queue, now))) {
      if (this.#isClosed) return;
      queue.taken(true, now);
      return this.#ledger.call();
    }
    const taken = broker?.take(queue.name, limit);
    const range = { prefix: [scope, queue.name], below: now + 1, limit };
    const of = { where: { holder: null }, set: { holder: claim.token }, claim };
    const rows = await (taken ?? store.take(messages, { ...range, ...of }));
    if (this.#isClosed) return;
    queue.taken(broker === undefined ? rows.length < limit : !broker.hasLetters(queue.name), now);
    this.#arrive(queue, rows);
  }

  /** Whether a take may find rows. A take writes to the store, also when it finds none: this reads alone. */
  async #isAnyFree({ name }: StoreQueue, now: number): Promise<boolean> {
    const { store, place } = this.#ledger;
    const rows = await store.scan(messages, { prefix: [place.scope, name], below: now + 1, limit: PEEKED });
    return rows.length === PEEKED || rows.some(({ holder }) => holder === null);
  }

  /** Hands rows out as far as they are wanted. */
  #arrive(queue: StoreQueue, rows: readonly MessageRow[]): void {
    for (const row of rows) {
      const message = this.#loadedRow(row);
      if (message !== undefined) this.#judge(queue, message);
      else queue.wanted--;
    }
    this.#ledger.call();
  }

  /** Hands a message out, unless it has ended its process, or has to wait until it is known which one did. */
  #judge(queue: StoreQueue, message: LiveMessage): void {
    const { blame, place } = this.#ledger;
    const { evidence, mayRun } = blame.find(place.scope, message.id);
    if (evidence !== undefined) this.#quarantine(message, evidence);
    else if (mayRun) queue.ready.push(message);
    else queue.waiting.add(message);
  }

  /** It is tried again after a time, and no attempt is used up; or it is given up. */
  #quarantine(message: LiveMessage, evidence: string): void {
    const { queue, ends } = message;
    const sentence =
      this.#ledger.options.sentence?.(queue, ends, evidence) ??
      sentenceFor(PIPELINE_DEFAULTS.route.quarantine, ends, evidence, 0);
    const { error } = sentence;
    if (sentence.type === "dead") this.#bury(message, error, { evidence });
    else this.#ledger.submit({ type: "retry", message, delayMs: sentence.delayMs, error, evidence });
  }

  /** No worker has worked on the message, so the ledger writes its history. */
  #bury(message: Message, error: string, by: { readonly evidence?: string } = {}): void {
    const { id, attempts, queue } = message;
    const route = this.#ledger.options.route?.(queue);
    const of = { id, status: "dead", attempt: Math.max(1, attempts), calls: [], children: 0 } as const;
    const entry = route === undefined ? undefined : { ...of, route };
    this.#ledger.submit({ type: "dead", message, error, entry, ...by });
  }

  /** Messages that had to wait may run by now. */
  #opened(): void {
    for (const queue of this.#queues.values()) {
      const waiting = [...queue.waiting];
      queue.waiting.clear();
      for (const message of waiting) if (message.state === "taken") this.#judge(queue, message);
    }
    this.#ledger.call();
  }

  readonly #ofMessages: LiveMessagePort = {
    accused: (id) => this.#ledger.blame.begin(this.#ledger.place.scope, id),
    beating: (message) => this.#beating(message),
  };

  #loadedRow(row: MessageRow): LiveMessage | undefined {
    const { id, queue, tag, attempts, history, lane, body, quarantines, setback, heartbeats, changes } = row;
    const errors = history === null ? NO_ERRORS : (JSON.parse(history) as string[]);
    const of = {
      id,
      queue,
      key: tag ?? undefined,
      attempts: attempts ?? 0,
      errors,
      lane,
      body,
      ends: quarantines ?? 0,
      setback: setbackOf(setback),
      heartbeats: heartbeats ?? undefined,
      changes: changes ?? undefined,
    };
    return this.#loaded(this.of(queue), of);
  }

  /** A message of this host. Its value is read from the stored one, so that it is not shared. Undefined: it cannot be read. */
  #loaded(queue: StoreQueue, of: LiveMessageFields): LiveMessage | undefined {
    let value: unknown;
    let unreadable: unknown;
    try {
      value = this.#ledger.options.payloads.load(of.body);
      if (value instanceof Promise) throw lateCodec();
    } catch (error) {
      unreadable = error;
    }
    const message = new LiveMessage(of, value, this.#ofMessages);
    queue.known.set(message.id, message);
    if (unreadable === undefined) return message;
    // No worker can ever work on it: it becomes a dead letter, where people look.
    queue.wanted++;
    this.#bury(message, showThrown(unreadable));
    return undefined;
  }

  #beating(message: LiveMessage): Heartbeats {
    const { context, payloads } = this.#ledger.options;
    const beats = new Heartbeats({
      payloads: valueCodec(payloads),
      named: (key) => `adapter ${key} of message ${message.id}`,
      now: () => this.#ledger.now(),
      after: (ms, fn) => void context.after(ms, fn),
      write: (heartbeats) => this.#beat(message, heartbeats),
      // Each was encoded when it was given.
      failed: () => undefined,
    });
    // The codec answers at once, or the message could not have been read.
    if (message.heartbeats !== undefined) void beats.restore(message.heartbeats);
    return beats;
  }

  /** A message that shows progress is no suspect. A failure of the store is ignored here: the step that settles the message reports it. */
  #beat(message: LiveMessage, heartbeats: Body): void {
    const { phase, place, store } = this.#ledger;
    if (phase !== "running" || message.state !== "taken") return;
    const { scope, claim, shared } = place;
    const row = { table: messages, key: [scope, message.queue, message.lane, message.id] };
    const is = shared ? { holder: claim.token } : ("present" as const);
    const write: Write = { type: "update", ...row, set: { heartbeats, alive: scope } };
    store.submit({ claim, expect: [{ ...row, is }], writes: [write] }, (error) => {
      if (error === undefined) message.progressed();
    });
  }

  /** Wakes up when the first delayed message is due. */
  #setTimer(): void {
    const { context } = this.#ledger.options;
    let at = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values())
      if (queue.wanted > queue.ready.length) at = Math.min(at, queue.due ?? at);
    if (at === this.#timerAt || (this.#timerAt !== undefined && this.#timerAt <= at)) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = context.after(Math.max(1, at - this.#ledger.now()), () => {
      this.#timerAt = undefined;
      this.#ledger.call();
    });
  }

  /** A step about these messages was refused: those that are still this host's are handed out again. */
  async again(refused: readonly LiveMessage[]): Promise<void> {
    const { store, place } = this.#ledger;
    const { scope, claim } = place;
    const keys = refused.map(({ queue, lane, id }) => [scope, queue, lane, id]);
    const rows = await store.get(messages, keys);
    if (this.#isClosed) return;
    for (const row of rows) {
      if (row?.holder !== claim.token) continue;
      const queue = this.of(row.queue);
      if (!queue.known.has(row.id)) this.#arrive(queue, [row]);
    }
  }

  /**
   * People have changed messages of the execution: reads the messages that they have put into queues, and counts the queues anew.
   *
   * @returns whether a message that this host has handed out is not its own any more
   */
  async changed(): Promise<boolean> {
    const { store, place } = this.#ledger;
    for (const queue of this.#queues.values()) queue.added(ANY);
    const known = [...this.#queues.values()].flatMap((queue) => [...queue.known.values()]);
    let isAnyGone = false;
    for (let at = 0; at < known.length; at += MOST_KEYS) {
      const some = known.slice(at, at + MOST_KEYS).filter(({ state }) => state === "taken");
      const keys = some.map(({ queue, lane, id }) => [place.scope, queue, lane, id]);
      const rows = await store.get(messages, keys);
      for (const [i, message] of some.entries()) {
        if (message.state !== "taken" || this.#isOwn(rows[i])) continue;
        this.of(message.queue).forget(message);
        isAnyGone = true;
      }
    }
    for (const { ready } of this.#queues.values())
      ready.splice(0, ready.length, ...ready.filter(({ state }) => state === "taken"));
    await this.#count([...this.#queues.values()]);
    return isAnyGone;
  }

  /** In a store of one process, all messages are of its host. */
  #isOwn(row: MessageRow | undefined): boolean {
    const { shared, claim } = this.#ledger.place;
    return row !== undefined && (!shared || row.holder === claim.token);
  }

  // ── what other hosts do ──────────────────────────────────────────────────────────────────────────────────────

  /** There may be messages that others have published or given back. @param name - the queue; absent: all of them */
  news(name?: string): void {
    for (const queue of this.#queues.values()) if (name === undefined || name === queue.name) queue.news();
    this.#ledger.call();
  }

  /** Nothing was heard of others for a while: looks whether there are messages. */
  poll(): void {
    for (const queue of this.#queues.values()) queue.news(false);
    this.#ledger.call();
  }

  /** Counts the queues anew whose marks matter: others publish to them and settle, too. @param all - also those without a waiter */
  async recount(all: boolean): Promise<void> {
    await this.#count(
      [...this.#queues.values()].filter((queue) => queue.mark > 0 || (all && queue.isWatched)),
    );
  }

  async #count(queues: readonly StoreQueue[]): Promise<void> {
    const { store, place } = this.#ledger;
    await Promise.all(
      queues.map(async (queue) => {
        queue.depth = await store.count(messages, { prefix: [place.scope, queue.name] });
      }),
    );
    if (queues.some(({ mark, depth }) => depth < mark)) this.#ledger.call();
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The keys of the rows that this host has taken. */
  keys(): (string | number)[][] {
    const { scope } = this.#ledger.place;
    return [...this.#queues.values()].flatMap((queue) =>
      [...queue.known.values()].map(({ lane, id }) => [scope, queue.name, lane, id]),
    );
  }

  /** From now on every event about its messages comes too late. */
  stop(): void {
    this.#cancelTimer?.();
    this.#unwatch();
    for (const { known } of this.#queues.values())
      for (const message of known.values()) message.state = "gone";
  }
}

/** Sorts before all ids of messages. */
const ANY = "";
/** Rows that are looked up at a time. */
const MOST_KEYS = 500;
/** Rows of one reading. */
const FEWEST_ROWS = 32;
const MOST_ROWS = 100_000;
/** Rows that a host looks at before it takes some. When others have all of these, it takes. */
const PEEKED = 4;
