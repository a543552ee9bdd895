// Hands the messages of an execution's queues out to the routes that asked for them: children that were just committed, pages of rows,
// and what is tried again. Rows are read as far as somebody asks; a timer wakes it when the next delayed message is due.
//
// A store of one process: which messages are handed out is known here alone, and lost with the process. A store that several processes
// share: rows name the claim of the host that has taken them.

import type { Payloads } from "../../flow/payload/payloads.js";
import { showThrown } from "../../process/show.js";
import type { Store, Write } from "../../store/index.js";
import type { Carriage } from "./carriage.js";
import { suspectsOf } from "./interruptions.js";
import type { LedgerContext, Message, Publication } from "./ledger.js";
import type { LedgerLimits } from "./limits.js";
import { type Body, LiveMessage } from "./live-message.js";
import { Quarantine, type Solitude } from "./quarantine.js";
import { Share } from "./share.js";
import { lateCodec } from "./step-encoding.js";
import { dueOf, type Place } from "./step-writes.js";
import { StoreQueue } from "./store-queue.js";
import { type MessageRow, messages, READY } from "./tables.js";

/** What handing out uses of its ledger. */
export interface HandOutPort {
  readonly store: Store;
  readonly place: Place;
  /** What brings letters, where a broker carries the messages. */
  readonly carriage: Pick<Carriage, "take"> | undefined;
  readonly limits: LedgerLimits;
  readonly payloads: Pick<Payloads, "load">;
  readonly context: LedgerContext;
  readonly closed: boolean;
  /** How many messages of a queue this host can work on, or hold in batches, at a time. */
  inWork(queue: string): number;
  /** Notes that the store was asked for something that the ledger has to wait for when it closes. */
  asked<T>(answer: Promise<T>): Promise<T>;
  /** One suspect message is tried at a time, over all that have this. */
  readonly solitude: Solitude;
  /** How often a message of this queue is tried at most. */
  attempts(queue: string): number;
  /** The clock of the store, which does not step back here. */
  now(): number;
  /** Serves the queues again, soon. */
  call(): void;
  /** Nobody is to try the message: it becomes a dead letter. */
  bury(message: Message, error: string): void;
  arrived(queue: string, messages: readonly Message[]): void;
  drained(queue: string): void;
  lost(error: Error): void;
}

/** What is read before a ledger begins. */
export interface KnownQueue {
  readonly name: string;
  readonly depth: number;
  /** When the first delayed message is due. */
  readonly due: number | undefined;
  /** How many of its messages are tried alone. */
  readonly suspects: number;
}

const NO_ERRORS: readonly string[] = [];

export class HandOut {
  readonly #port: HandOutPort;
  readonly #queues = new Map<string, StoreQueue>();
  readonly #quarantine: Quarantine | undefined;
  #cancelTimer: (() => void) | undefined;
  #timerAt: number | undefined;

  constructor(port: HandOutPort, known: readonly KnownQueue[]) {
    this.#port = port;
    for (const { name, depth, due } of known) {
      const queue = this.of(name);
      queue.depth = depth;
      queue.due = due;
    }
    // Upstream first is the order of a pipeline's queues.
    const suspects = new Map(known.map((queue) => [queue.name, queue.suspects] as const).reverse());
    const hasSuspects = port.place.shared || known.some((queue) => queue.suspects > 0);
    if (port.carriage === undefined && hasSuspects) this.#quarantine = this.#makeQuarantine(suspects);
  }

  #makeQuarantine(suspects: ReadonlyMap<string, number>): Quarantine {
    const port = this.#port;
    const { store, place, solitude } = port;
    return new Quarantine(
      {
        ...{ store, solitude, claim: place.claim },
        get closed() {
          return port.closed;
        },
        attempts: (queue) => port.attempts(queue),
        wants: (queue) => this.of(queue).wanted > 0,
        next: (queue) => port.asked(this.#nextSuspect(queue)),
        load: (row) => {
          const message = this.#loadedRow(row);
          if (message === undefined) this.of(row.queue).wanted--;
          return message;
        },
        deliver: (message) => {
          this.of(message.queue).wanted--;
          port.arrived(message.queue, [message]);
        },
        giveUp: (message, error) => port.bury(message, error),
        call: () => port.call(),
        lost: (error) => port.lost(error),
      },
      suspects,
    );
  }

  async #nextSuspect(queue: string): Promise<MessageRow | undefined> {
    const { store, place } = this.#port;
    const { scope, claim, shared } = place;
    const first = { index: "suspects", prefix: [scope, queue], limit: 1 };
    const free = { where: { holder: null }, set: { holder: claim.token }, claim };
    const [row] = await (shared ? store.take(messages, { ...first, ...free }) : store.scan(messages, first));
    return row;
  }

  /** What a ledger has to know of a queue before it begins. */
  static async known(store: Store, scope: number, name: string): Promise<KnownQueue> {
    const [depth, [first], suspects] = await Promise.all([
      store.count(messages, { prefix: [scope, name] }),
      store.scan(messages, { prefix: [scope, name], after: READY, limit: 1 }),
      suspectsOf(store, scope, name),
    ]);
    return { name, depth, due: first?.lane, suspects };
  }

  of(name: string): StoreQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      const { place, limits, inWork } = this.#port;
      queue = new StoreQueue(name, place.shared ? new Share(inWork(name), limits.pollMs) : undefined);
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

  // ── steps that are committed ─────────────────────────────────────────────────────────────────────────────────

  /** Whether somebody has asked for a message of this queue that is about to be committed. It is promised to that one then. */
  promise(name: string): boolean {
    // The broker says which host works on it.
    if (this.#port.carriage !== undefined) return false;
    const queue = this.of(name);
    const now = queue.share === undefined ? 0 : this.#port.now();
    if (queue.room(now) <= 0 || this.#quarantine?.blocks(name) === true) return false;
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
    this.#quarantine?.left(message);
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
    return this.#loaded(queue, { id, queue: name, key, attempts: 0, errors: NO_ERRORS, lane: READY, body });
  }

  /** A message is tried again, at once or after a delay. */
  retried(message: LiveMessage, delayMs: number, error: string | undefined, now: number): void {
    const queue = this.of(message.queue);
    queue.forget(message);
    this.#quarantine?.left(message);
    if (delayMs > 0) {
      queue.delayed(dueOf(now, delayMs));
      return;
    }
    const next = this.#loaded(queue, {
      ...message,
      attempts: error === undefined ? message.attempts : message.attempts + 1,
      errors: error === undefined ? message.errors : [...message.errors, error],
    });
    if (next !== undefined) queue.ready.push(next);
  }

  // ── handing out ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Hands out what is there, reads what is missing, and wakes up for what is due later. */
  serve(): void {
    this.#quarantine?.serve();
    for (const queue of this.#queues.values()) this.#serve(queue);
    this.#setTimer();
  }

  #serve(queue: StoreQueue): void {
    const port = this.#port;
    const isBlocked = this.#quarantine?.blocks(queue.name) === true;
    const count = isBlocked ? 0 : Math.min(queue.wanted, queue.ready.length);
    if (count > 0) {
      queue.wanted -= count;
      port.arrived(queue.name, queue.ready.splice(0, count));
    }
    if (queue.depth < queue.mark) {
      queue.mark = 0;
      port.drained(queue.name);
    }
    const kind = isBlocked ? undefined : queue.next(port.now());
    if (kind === undefined) return;
    queue.reading = kind;
    const isTaken = port.place.shared || port.carriage !== undefined;
    const reading = isTaken ? this.#take(queue) : this.#read(queue, kind);
    port.asked(reading).catch((error: unknown) => {
      queue.unread();
      port.lost(error as Error);
    });
  }

  async #read(queue: StoreQueue, kind: "ready" | "delayed"): Promise<void> {
    const { store, place, limits } = this.#port;
    const missing = queue.wanted - queue.ready.length;
    // Delayed rows stay where they are while they are worked on, so the page has to reach beyond them.
    const past = kind === "delayed" ? queue.known.size : 0;
    const limit = Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, Math.min(limits.readRows, missing)) + past);
    const scan =
      kind === "ready"
        ? { prefix: [place.scope, queue.name, READY], from: queue.from, limit }
        : { prefix: [place.scope, queue.name], after: READY, limit };
    const rows = await store.scan(messages, scan);
    if (this.#port.closed) return;
    this.#arrive(queue, queue.page(rows, rows.length < limit, this.#port.now()));
  }

  async #take(queue: StoreQueue): Promise<void> {
    const { store, place, limits, carriage } = this.#port;
    const { scope, claim } = place;
    const now = this.#port.now();
    const limit = Math.min(limits.readRows, queue.room(now));
    const taken = carriage?.take(queue.name, limit);
    const range = { prefix: [scope, queue.name], below: now + 1, limit };
    const of = { where: { holder: null, suspect: null }, set: { holder: claim.token }, claim };
    const rows = await (taken ?? store.take(messages, { ...range, ...of }));
    if (this.#port.closed) return;
    queue.taken(rows.length < limit, now);
    this.#arrive(queue, rows);
  }

  /** Hands rows out as far as they are wanted. */
  #arrive(queue: StoreQueue, rows: readonly MessageRow[]): void {
    for (const row of rows) {
      const message = this.#loadedRow(row);
      if (message !== undefined) queue.ready.push(message);
      else queue.wanted--;
    }
    this.#port.call();
  }

  #loadedRow({ id, queue, tag, attempts, history, lane, body }: MessageRow): LiveMessage | undefined {
    const errors = history === null ? NO_ERRORS : (JSON.parse(history) as string[]);
    const of = { id, queue, key: tag ?? undefined, attempts: attempts ?? 0, errors, lane, body };
    return this.#loaded(this.of(queue), of);
  }

  /** A message of this host. Its value is read from what is stored, so that nobody shares it. Undefined: it cannot be read. */
  #loaded(queue: StoreQueue, of: Omit<LiveMessage, "state" | "value">): LiveMessage | undefined {
    let value: unknown;
    let unreadable: unknown;
    try {
      value = this.#port.payloads.load(of.body);
      if (value instanceof Promise) throw lateCodec();
    } catch (error) {
      unreadable = error;
    }
    const message = new LiveMessage({ ...of, value });
    queue.known.set(message.id, message);
    if (unreadable === undefined) return message;
    // Nobody can work on it, now or later: it goes where people look.
    queue.wanted++;
    this.#port.bury(message, showThrown(unreadable));
    return undefined;
  }

  /** Wakes up when the first delayed message is due. */
  #setTimer(): void {
    const { context } = this.#port;
    let at = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values())
      if (queue.wanted > queue.ready.length) at = Math.min(at, queue.due ?? at);
    if (at === this.#timerAt || (this.#timerAt !== undefined && this.#timerAt <= at)) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = context.after(Math.max(1, at - this.#port.now()), () => {
      this.#timerAt = undefined;
      this.#port.call();
    });
  }

  /** A step about these messages was refused: those that are still this host's are handed out again. */
  async again(refused: readonly LiveMessage[]): Promise<void> {
    const { store, place } = this.#port;
    const { scope, claim } = place;
    const keys = refused.map(({ queue, lane, id }) => [scope, queue, lane, id]);
    const rows = await store.get(messages, keys);
    if (this.#port.closed) return;
    for (const [i, row] of rows.entries()) {
      const isMine = row?.holder === claim.token;
      if (this.#quarantine?.refused(refused[i] as LiveMessage, isMine) === true || !isMine) continue;
      const queue = this.of(row.queue);
      if (!queue.known.has(row.id)) this.#arrive(queue, [row]);
    }
  }

  // ── what other hosts do ──────────────────────────────────────────────────────────────────────────────────────

  /** There may be messages that others have published or given back. @param name - the queue; absent: all of them */
  news(name?: string): void {
    for (const queue of this.#queues.values())
      if (name === undefined || name === queue.name) queue.exhausted = false;
    this.#port.call();
  }

  /** Counts the queues anew whose marks matter: others publish to them and settle, too. @param all - also those that nobody waits for */
  async recount(all: boolean): Promise<void> {
    const { store, place } = this.#port;
    if (all && this.#quarantine !== undefined) this.#quarantine.found(await this.#suspects());
    const counted = [...this.#queues.values()].filter((queue) => queue.mark > 0 || (all && queue.isWatched));
    await Promise.all(
      counted.map(async (queue) => {
        queue.depth = await store.count(messages, { prefix: [place.scope, queue.name] });
      }),
    );
    if (counted.some(({ mark, depth }) => depth < mark)) this.#port.call();
  }

  /** How many suspects each queue has, the queue furthest downstream first. */
  async #suspects(): Promise<ReadonlyMap<string, number>> {
    const { store, place } = this.#port;
    const all = await store.count(messages, { index: "suspects", prefix: [place.scope] });
    if (all === 0) return new Map();
    const names = [...this.#queues.keys()].reverse();
    const counts = await Promise.all(names.map((name) => suspectsOf(store, place.scope, name)));
    return new Map(names.map((name, i) => [name, counts[i] ?? 0]));
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether a message is tried alone. */
  get hasSuspect(): boolean {
    return this.#quarantine?.busy === true;
  }

  /** What a clean end writes, so that it is not taken for another. */
  undone(): readonly Write[] {
    return this.#quarantine?.undone() ?? [];
  }

  /** The keys of the rows that this host has taken. */
  keys(): (string | number)[][] {
    const { scope } = this.#port.place;
    return [...this.#queues.values()].flatMap((queue) =>
      [...queue.known.values()].map(({ lane, id }) => [scope, queue.name, lane, id]),
    );
  }

  /** Whatever comes about its messages from now on is too late. */
  stop(): void {
    this.#cancelTimer?.();
    this.#quarantine?.stop();
    for (const { known } of this.#queues.values())
      for (const message of known.values()) message.state = "gone";
  }
}

/** Rows of one reading. */
const FEWEST_ROWS = 32;
const MOST_ROWS = 100_000;
