// The open calls of one connection in one direction, by number. The table is a hash table whose entries are the far ends of the calls
// themselves, so a call allocates nothing for its place in it. Numbers rise, so the last bits of a number are its bucket. A list has the
// entries in the order in which they came.

import type { Request } from "./request.js";

const FEWEST = 16;

/** What a call has in a table. */
export abstract class TableEntry {
  /** The number of the call within its caller's node. */
  readonly ref: number;
  /** The call itself at its caller's node, or its request at its callee's. */
  readonly request: Request;
  /** The table that the call is in while it is open. */
  table: CallTable<TableEntry> | undefined = undefined;
  /** @internal The next one of its bucket. */
  chained: TableEntry | undefined = undefined;
  /** @internal */
  previous: TableEntry | undefined = undefined;
  /** @internal */
  next: TableEntry | undefined = undefined;

  constructor(ref: number, request: Request) {
    this.ref = ref;
    this.request = request;
  }
}

export class CallTable<E extends TableEntry = TableEntry> {
  #buckets: (TableEntry | undefined)[] = new Array(FEWEST).fill(undefined);
  #oldest: TableEntry | undefined = undefined;
  #newest: TableEntry | undefined = undefined;
  size = 0;

  /** The one that came first. */
  get first(): E | undefined {
    return this.#oldest as E | undefined;
  }

  get(ref: number): E | undefined {
    let entry = this.#buckets[ref & (this.#buckets.length - 1)];
    while (entry !== undefined && entry.ref !== ref) entry = entry.chained;
    return entry as E | undefined;
  }

  /** Adds an entry that is in no table. Its number must not be in this one. */
  add(entry: E): void {
    if (this.size === this.#buckets.length) this.#grow();
    this.size++;
    entry.table = this as unknown as CallTable;
    this.#chain(entry);
    const newest = this.#newest;
    entry.previous = newest;
    if (newest === undefined) this.#oldest = entry;
    else newest.next = entry;
    this.#newest = entry;
  }

  /** False when the entry is in another table, or in none. */
  delete(entry: TableEntry): boolean {
    if (entry.table !== (this as unknown as CallTable)) return false;
    const { next, previous, chained } = entry;
    const index = entry.ref & (this.#buckets.length - 1);
    let before = this.#buckets[index] as TableEntry;
    if (before === entry) this.#buckets[index] = chained;
    else {
      while (before.chained !== entry) before = before.chained as TableEntry;
      before.chained = chained;
    }
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#newest = previous;
    else next.previous = previous;
    entry.table = undefined;
    entry.chained = undefined;
    entry.next = undefined;
    entry.previous = undefined;
    this.size--;
    return true;
  }

  #chain(entry: TableEntry): void {
    const index = entry.ref & (this.#buckets.length - 1);
    entry.chained = this.#buckets[index];
    this.#buckets[index] = entry;
  }

  #grow(): void {
    this.#buckets = new Array(this.#buckets.length * 2).fill(undefined);
    for (let entry = this.#oldest; entry !== undefined; entry = entry.next) this.#chain(entry);
  }
}
