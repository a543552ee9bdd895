// What this host knows of one queue of an execution: how far it has read, the messages that it has handed out, and how many were asked for. Pure.
//
// A store of one process needs no lease on a message: the process with the claim of the host holds all messages, and those that are handed
// out are known here. Rows are read in the order of their ids. Children may come with ids from before the place that was read to; then
// reading goes back to them, past the rows that are known.

import type { MessageId } from "../definition/message-id.js";
import type { LiveMessage } from "./live-message.js";
import type { Share } from "./share.js";

/** A row of a page of a queue, as far as its place matters. */
interface Placed {
  readonly id: MessageId;
  readonly lane: number;
}

/** Most messages of a queue that wait in memory. */
const MOST_WAITING = 10_000;

export class StoreQueue {
  readonly name: string;
  /** Asked for, and neither arrived nor promised to a child that is being committed. */
  wanted = 0;
  /** Promised to children that are being committed. */
  promised = 0;
  /** Handed out, or on their way to be settled: by id. */
  readonly known: Map<MessageId, LiveMessage> = new Map();
  /** Handed out as soon as the route asks: messages that are retried at once, and those that came in excess. */
  readonly ready: LiveMessage[] = [];
  /** Known, and not to be tried before it is known which message ends the process. */
  readonly waiting: Set<LiveMessage> = new Set();
  /** Live messages in the store, as far as this host knows. */
  depth = 0;
  /** The mark that a route waits for; 0: none does. */
  mark = 0;
  /** A caller asks how many messages it holds. */
  isWatched = false;
  /** How many of its messages this host may have taken, if other hosts take some, too. */
  readonly share: Share | undefined;
  /** There may be ready rows from here on. */
  from: MessageId = "";
  /** All ready rows from `from` on are known. */
  exhausted = false;
  /** The first time, by the clock of the ledger, at which a delayed row may be due that is not known. */
  due: number | undefined;
  /** A page is being read. */
  reading: "ready" | "delayed" | undefined;
  /** It is known that there may be rows to take. False: it is only time to look whether there are. */
  isTold = true;
  /** While a page is read: rows that have gone since, and may be in the page. */
  readonly #gone = new Set<MessageId>();
  /** While a page is read: the first id that was added. */
  #added: MessageId | undefined;
  #addedDue: number | undefined;
  /** While a page is read: others have news since, which the page may not have. */
  #isBehind = false;

  constructor(name: string, share: Share | undefined) {
    this.name = name;
    this.share = share;
  }

  /** How many messages may be taken now: as many as are asked for, and no more than the share of this host. */
  room(now: number): number {
    const { size: waiting } = this.waiting;
    if (waiting >= MOST_WAITING) return 0;
    const missing = this.wanted - this.ready.length;
    if (this.share === undefined) return missing;
    return Math.min(missing, this.share.most(now) - this.known.size + waiting - this.promised);
  }

  /** Whether taking is worth a commit: a message that is done need not ask for one. */
  #isWorth(now: number): boolean {
    const room = this.room(now);
    if (this.share === undefined || room <= 0) return room > 0;
    return room >= Math.min(this.wanted - this.ready.length, this.share.most(now) / 2);
  }

  /** The message is not worked on any more, and its row is gone or has moved. */
  forget(message: LiveMessage): void {
    message.state = "gone";
    this.known.delete(message.id);
    this.waiting.delete(message);
    message.end();
    if (this.reading !== undefined) this.#gone.add(message.id);
  }

  /** A ready row was added that this host has not taken. */
  added(id: MessageId): void {
    this.exhausted = false;
    this.isTold = true;
    this.#gone.delete(id);
    if (id < this.from) this.from = id;
    if (this.reading === "ready" && (this.#added === undefined || id < this.#added)) this.#added = id;
  }

  /** There may be ready rows that others have added or given back. @param isTold - others have said so; false: it is time to look */
  news(isTold = true): void {
    this.exhausted = false;
    this.#isBehind = this.reading !== undefined;
    if (isTold) this.isTold = true;
  }

  /** A row was added that is due at this time. A page that is being read may have an older row of the message: it stays gone there. */
  delayed(due: number): void {
    this.due = Math.min(this.due ?? due, due);
    if (this.reading === "delayed") this.#addedDue = Math.min(this.#addedDue ?? due, due);
  }

  /** How many rows to read, if reading is of use now. */
  next(now: number): "ready" | "delayed" | undefined {
    if (this.reading !== undefined || !this.#isWorth(now)) return undefined;
    if (this.due !== undefined && this.due <= now) return "delayed";
    return this.exhausted ? undefined : "ready";
  }

  /** The rows of a page that are to be handed out. @param isWhole - there are no rows behind the page */
  page<R extends Placed>(rows: readonly R[], isWhole: boolean, now: number): R[] {
    const isDelayed = this.reading === "delayed";
    const fresh: R[] = [];
    const most = this.wanted - this.ready.length;
    let at = 0;
    for (; at < rows.length; at++) {
      const row = rows[at] as R;
      if (this.known.has(row.id) || this.#gone.has(row.id)) continue;
      if (fresh.length >= most || (isDelayed && row.lane > now)) break;
      fresh.push(row);
    }
    const stopped = rows[at];
    if (isDelayed) this.due = stopped?.lane ?? (isWhole ? undefined : rows.at(-1)?.lane);
    else {
      const last = rows[at - 1];
      // A blank sorts before all characters of an id: nothing is between the last row and this place.
      if (last !== undefined) this.from = `${last.id} `;
      this.exhausted = stopped === undefined && isWhole;
    }
    this.#read();
    return fresh;
  }

  /** Rows were taken from a store that others take from, too. @param isWhole - there were no others */
  taken(isWhole: boolean, now: number): void {
    this.exhausted = isWhole;
    this.isTold = !isWhole || this.#isBehind;
    if (isWhole && this.due !== undefined && this.due <= now) this.due = undefined;
    this.#read();
  }

  /** The page could not be read. */
  unread(): void {
    this.#read();
  }

  /** Rows that came in the meantime count from now on. */
  #read(): void {
    const [added, due] = [this.#added, this.#addedDue];
    this.reading = undefined;
    this.#gone.clear();
    this.#added = undefined;
    this.#addedDue = undefined;
    if (this.#isBehind) this.exhausted = false;
    this.#isBehind = false;
    if (added !== undefined) this.added(added);
    if (due !== undefined) this.due = Math.min(this.due ?? due, due);
  }
}
