// Optimistic transactions: a function reads and writes, and its reads become the expectations of its write set.

import { backoffMs } from "../process/backoff.js";
import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import { count, withList, withMethod } from "../process/options.js";
import type { Fence } from "./claim.js";
import { contextOf } from "./context-of.js";
import { ConflictError, StoreClosedError } from "./errors.js";
import { STORE_DEFAULTS } from "./limits.js";
import { rangeText } from "./needs.js";
import type { Store } from "./store.js";
import type { AnyRow, Columns, RowOf, Table, Value } from "./table.js";
import { type IndexShape, isIn, orderOf, shapeOf, textOf, valuesOf } from "./table-shape.js";
import { checkTopic } from "./values.js";
import type { Expectation, Key, RangeExpectation, RowWrite, WriteSet } from "./write-set.js";

/** A row as it is inserted: columns that may be null, and the one that the store numbers, may be left out. */
export type NewRow<C extends Columns> = Partial<RowOf<C>>;

/** Which rows {@link StoreTransaction.scan} gives: all whose index begins with the prefix. */
export interface TransactionScan {
  /** An index of the table. Default: the key. */
  readonly index?: string;
  /** Values of the first columns of the index. Default: none, which is all rows. */
  readonly prefix?: Key;
  /** From the last to the first. Default false. */
  readonly reverse?: boolean;
}

/** The function of a {@link transact} reads and writes with it. */
export interface StoreTransaction {
  /** The row with this key, with what this transaction has written. */
  get<C extends Columns>(table: Table<C>, key: Key): Promise<RowOf<C> | undefined>;
  /** The rows of a range, with what this transaction has written, but for rows that have no number yet. */
  scan<C extends Columns>(table: Table<C>, scan: TransactionScan): Promise<RowOf<C>[]>;
  /** Adds a row. If there is one with this key, the transaction fails with a ConflictError. */
  insert<C extends Columns>(table: Table<C>, row: NewRow<C>): void;
  /** Adds a row, or replaces the one with this key. */
  put<C extends Columns>(table: Table<C>, row: NewRow<C>): void;
  /** Changes columns of the row with this key, if there is one; `add` adds to numbers. */
  update<C extends Columns>(
    table: Table<C>,
    key: Key,
    set: NewRow<C>,
    add?: { readonly [K in keyof C]?: number },
  ): void;
  /** Removes the row with this key, if there is one. */
  delete<C extends Columns>(table: Table<C>, key: Key): void;
  /** Notifies the watchers of a topic after the commit. */
  notify(topic: string): void;
}

/** Options of {@link transact}. */
export interface TransactOptions {
  /** How often the function is run when other writers were faster. Default 10. */
  readonly attempts?: number;
  /** The claim under which the writes are made. */
  readonly claim?: Fence;
  /** Ends the waits and the attempts. A commit that is on its way is not taken back. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a function that reads and writes rows, and commits its writes as one write set. If another writer has changed what the
 * function read, nothing is written, and the function runs again, after a wait that grows. So the function must do nothing but
 * read and write through `tx`.
 *
 * Each row that was read, each key that was read without finding a row, and each range that was scanned is as it was read when the
 * writes are applied: no row was changed, and none was added. So transactions that commit are serializable: the outcome is that of some
 * order in which they ran one after another.
 *
 * @returns what the function returned
 * @throws ConflictError when the last attempt failed, too; FencedError; ValueError; StoreError; the reason of the signal
 * @example
 * const accounts = defineTable("accounts", { columns: { id: "text", cents: "integer" }, key: ["id"] });
 * const left = await transact(store, async (tx) => {
 *   const account = await tx.get(accounts, ["anna"]);
 *   if (account === undefined || account.cents < 500) return undefined;
 *   tx.update(accounts, ["anna"], { cents: account.cents - 500 });
 *   return account.cents - 500;
 * });
 */
export async function transact<T>(
  store: Store,
  body: (tx: StoreTransaction) => Promise<T> | T,
  options: TransactOptions = {},
): Promise<T> {
  withMethod("store", store, "commit", "an open store");
  only("", options, ["attempts", "claim", "signal"]);
  if (typeof body !== "function") throw new OptionError("body", body, "a function of the transaction");
  const { claim, signal } = options;
  const attempts = count("attempts", options.attempts ?? STORE_DEFAULTS.transactAttempts, 1);
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    const tx = new Transaction(store);
    try {
      const result = await body(tx);
      signal?.throwIfAborted();
      await store.commit({ ...tx.end(), ...(claim && { claim }) });
      return result;
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt >= attempts) throw error;
    } finally {
      tx.end();
    }
    await pause(store, attempt, signal);
  }
}

const BACKOFF = { minMs: STORE_DEFAULTS.transactMinMs, maxMs: STORE_DEFAULTS.transactMaxMs, jitter: 0.5 };

/** Waits before the next attempt, by the clock of the store's system. */
function pause(store: Store, attempt: number, signal: AbortSignal | undefined): Promise<void> {
  const context = contextOf(store);
  if (context === undefined) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = context.after(backoffMs(BACKOFF, attempt, context.environment.random()), () => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    });
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** A row that was read, or a key without one. */
interface Read {
  readonly table: Table;
  readonly key: Key;
  readonly row: AnyRow | undefined;
}

class Transaction implements StoreTransaction {
  readonly #store: Store;
  /** By table, index and prefix: how many rows the first scan gave. */
  readonly #ranges = new Map<string, RangeExpectation>();
  /** By table and key: as it was when it was first read. */
  readonly #reads = new Map<string, Read>();
  readonly #writes: RowWrite[] = [];
  readonly #topics = new Set<string>();
  #ended = false;

  constructor(store: Store) {
    this.#store = store;
  }

  async get<C extends Columns>(table: Table<C>, key: Key): Promise<RowOf<C> | undefined> {
    this.#check();
    const text = placeOf(tableOf(table), keyAt(key));
    let read = this.#reads.get(text);
    if (read === undefined) {
      const [row] = await this.#store.get(table, [key]);
      read = this.#remember(text, { table, key, row: row as AnyRow | undefined });
    }
    return this.#written(read) as RowOf<C> | undefined;
  }

  async scan<C extends Columns>(table: Table<C>, scan: TransactionScan): Promise<RowOf<C>[]> {
    this.#check();
    only("scan", scan, ["index", "prefix", "reverse"]);
    const { index: name = "", prefix = [], reverse = false } = scan;
    const limit = STORE_DEFAULTS.scanMostRows;
    const rows = await this.#store.scan(table, { ...(name !== "" && { index: name }), prefix, limit });
    if (rows.length === limit)
      throw new OptionError("scan.prefix", prefix, `a prefix of fewer than ${limit} rows of ${table.name}`);
    const index = shapeOf(table).indexes.get(name) as IndexShape;
    const range = `${table.name} ${rangeText(name, prefix)}`;
    if (!this.#ranges.has(range))
      this.#ranges.set(range, { table, ...(name !== "" && { index: name }), prefix, rows: rows.length });
    for (const row of rows as AnyRow[]) {
      const key = valuesOf(row, table.key);
      this.#remember(placeOf(table, key), { table, key, row });
    }
    const own = await this.#own(table);
    const all = [...this.#reads.values(), ...own.filter((one) => !this.#reads.has(placeOf(table, one.key)))]
      .filter((one) => one.table.name === table.name)
      .map((one) => this.#written(one))
      .filter((row) => row !== undefined && isIn(index, prefix, row)) as AnyRow[];
    all.sort(orderOf(index, table));
    return (reverse ? all.reverse() : all) as RowOf<C>[];
  }

  insert<C extends Columns>(table: Table<C>, row: NewRow<C>): void {
    this.#write({ type: "insert", table, row: row as AnyRow });
  }

  put<C extends Columns>(table: Table<C>, row: NewRow<C>): void {
    this.#write({ type: "put", table, row: row as AnyRow });
  }

  update<C extends Columns>(
    table: Table<C>,
    key: Key,
    set: NewRow<C>,
    add?: { readonly [K in keyof C]?: number },
  ): void {
    const more = add as Readonly<Record<string, number>> | undefined;
    rowAt("set", set);
    this.#write({ type: "update", table, key, set: set as AnyRow, ...(more !== undefined && { add: more }) });
  }

  delete<C extends Columns>(table: Table<C>, key: Key): void {
    this.#write({ type: "delete", table, key });
  }

  notify(topic: string): void {
    this.#check();
    checkTopic(topic);
    this.#topics.add(topic);
  }

  /** Ends the transaction, and returns the write set to commit. */
  end(): WriteSet {
    this.#ended = true;
    const rows = [...this.#reads.values()].map(
      ({ table, key, row }): Expectation => ({ table, key, is: row ?? "absent" }),
    );
    return { expect: [...rows, ...this.#ranges.values()], writes: this.#writes, notify: [...this.#topics] };
  }

  #check(): void {
    if (this.#ended) throw new StoreClosedError(`transaction on ${this.#store.label}`);
  }

  #write(write: RowWrite): void {
    this.#check();
    tableOf(write.table);
    if ("key" in write) keyAt(write.key);
    if ("row" in write) rowAt("row", write.row);
    if (write.type === "update") {
      if (write.set !== undefined) rowAt("set", write.set);
      if (write.add !== undefined) rowAt("add", write.add);
    }
    this.#writes.push(write);
  }

  /** The first read counts: if a later one differs, the commit is refused. */
  #remember(text: string, read: Read): Read {
    const earlier = this.#reads.get(text);
    if (earlier !== undefined) return earlier;
    this.#reads.set(text, read);
    return read;
  }

  /** The rows that this transaction writes without having read them. An update has to be read to be shown. */
  async #own(table: Table): Promise<Read[]> {
    const own = new Map<string, Read>();
    for (const write of this.#writes) {
      if (write.table.name !== table.name) continue;
      const key = keyOf(write);
      if (key === undefined) continue;
      if (write.type === "update") await this.get(table, key);
      own.set(placeOf(table, key), { table, key, row: undefined });
    }
    return [...own.values()];
  }

  /** A row with what this transaction has written to it. */
  #written({ table, key, row }: Read): AnyRow | undefined {
    const text = textOf(key);
    let now = row;
    for (const write of this.#writes) {
      if (write.table.name !== table.name) continue;
      const place = keyOf(write);
      if (place !== undefined && textOf(place) === text) now = after(write, now);
    }
    return now === undefined ? undefined : { ...now };
  }
}

// The store checks the values when it applies the set. But an invalid table, key or row would confuse the reads of the transaction
// before that.

function tableOf(table: Table): Table {
  return withList("table", table as Table, "key", "a table that defineTable() has made");
}

function keyAt(key: Key): Key {
  if (Array.isArray(key)) return key;
  throw new OptionError("key", key, "an array with the values of the key");
}

function rowAt(path: string, row: unknown): void {
  if (typeof row !== "object" || row === null || Array.isArray(row))
    throw new OptionError(path, row, "an object of values by column");
}

const placeOf = (table: Table, key: Key): string => `${table.name} ${textOf(key)}`;

/** The key of the row that a write is about; undefined for one that the store will number. */
function keyOf(write: RowWrite): Key | undefined {
  switch (write.type) {
    case "update":
    case "delete":
      return write.key;
    case "clear":
      return undefined;
    default:
      return write.table.counted === undefined ? valuesOf(write.row, write.table.key) : undefined;
  }
}

/** The row after one write. */
function after(write: RowWrite, row: AnyRow | undefined): AnyRow | undefined {
  switch (write.type) {
    case "delete":
    case "clear":
      return undefined;
    case "update": {
      if (row === undefined) return undefined;
      const now: Record<string, Value> = { ...row, ...write.set };
      for (const name in write.add) now[name] = ((row[name] ?? 0) as number) + (write.add[name] as number);
      return now;
    }
    default: {
      const now: Record<string, Value> = {};
      for (const name of Object.keys(write.table.columns)) now[name] = write.row[name] ?? null;
      return now;
    }
  }
}
