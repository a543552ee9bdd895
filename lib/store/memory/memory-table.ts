// One table in memory: its rows by key, and in the order of each index.

import type { CheckedScan } from "../driver.js";
import { numbered, type Statement } from "../plan.js";
import type { AnyRow, Table, Value } from "../table.js";
import {
  compareKeys,
  type IndexShape,
  orderOf,
  sameValue,
  shapeOf,
  textOf,
  valuesOf,
} from "../table-shape.js";
import type { Key } from "../write-set.js";
import { SortedRows } from "./sorted-rows.js";

export class MemoryTable {
  readonly table: Table;
  readonly #rows = new Map<string, AnyRow>();
  readonly #sorted = new Map<string, SortedRows>();
  #indexes: readonly IndexShape[] = [];
  /** The last number given to a row. */
  #last = 0;

  constructor(table: Table) {
    this.table = table;
    this.#indexes = [...shapeOf(table).indexes.values()];
    for (const index of this.#indexes) this.#sorted.set(index.name, new SortedRows(orderOf(index, table)));
  }

  /** The rows of an older form of the table, with null for new columns. */
  static from(older: MemoryTable, table: Table): MemoryTable {
    const one = new MemoryTable(table);
    one.#last = older.#last;
    for (const row of older.#rows.values()) one.#add(row);
    return one;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: Key): AnyRow | undefined {
    const row = this.#rows.get(textOf(key));
    return row === undefined ? undefined : copy(row);
  }

  /** The row with these values of a unique index. */
  owner(index: IndexShape, values: Key): AnyRow | undefined {
    return this.#range(index, values, false, 1)[0];
  }

  scan(scan: CheckedScan): AnyRow[] {
    return this.#found(scan).map(copy);
  }

  count(scan: CheckedScan, atMost: number = Number.POSITIVE_INFINITY): number {
    const { index, prefix, from, after, below, where } = scan;
    if (where !== undefined) return this.#found({ ...scan, limit: atMost }).length;
    const [inside, beyond] = bounds(index, prefix, from, after, below);
    return Math.min(atMost, this.#sorted.get(index.name)?.count(inside, beyond) ?? 0);
  }

  #found({ index, prefix, from, after, below, where, reverse, limit }: CheckedScan): AnyRow[] {
    const [inside, beyond] = bounds(index, prefix, from, after, below);
    const wanted = where && Object.entries(where);
    const isWanted =
      wanted && ((row: AnyRow) => wanted.every(([name, value]) => sameValue(row[name] as Value, value)));
    return this.#sorted.get(index.name)?.range(inside, beyond, reverse, limit, isWanted) ?? [];
  }

  carryOut(statement: Statement): void {
    switch (statement.type) {
      case "insert":
        this.#insert(statement);
        return;
      case "put":
        for (const row of statement.rows) {
          this.#remove(textOf(valuesOf(row, this.table.key)));
          this.#add(row);
        }
        return;
      case "update":
        for (const row of statement.rows) this.#update(row, statement.columns);
        return;
      case "delete":
        for (const key of statement.keys) this.#remove(textOf(key));
        return;
      case "clear": {
        const index = shapeOf(this.table).indexes.get(statement.index) as IndexShape;
        const rows = this.#range(index, statement.prefix, false, Number.POSITIVE_INFINITY);
        for (const row of rows) this.#remove(textOf(valuesOf(row, this.table.key)));
        numbered(statement.slots, 0, rows.length);
        return;
      }
      default:
        statement satisfies never;
    }
  }

  #insert({ rows, slots }: Extract<Statement, { type: "insert" }>): void {
    const { counted } = this.table;
    for (let n = 0; n < rows.length; n++) {
      const row = rows[n] as AnyRow;
      if (counted === undefined || slots === undefined) this.#add(row);
      else {
        this.#last++;
        this.#add(row, this.#last);
        numbered(slots, n, this.#last);
      }
    }
  }

  #update(row: AnyRow, columns: readonly string[]): void {
    const text = textOf(valuesOf(row, this.table.key));
    const before = this.#rows.get(text);
    if (before === undefined) return;
    this.#remove(text);
    this.#add({ ...before, ...Object.fromEntries(columns.map((name) => [name, row[name] ?? null])) });
  }

  /** Adds a copy: the writer may change its row later. */
  #add(row: AnyRow, number?: number): void {
    const { columns, counted, key } = this.table;
    const full: Record<string, Value> = {};
    for (const name in columns) full[name] = kept(name === counted ? (number ?? row[name]) : row[name]);
    this.#rows.set(textOf(valuesOf(full, key)), full);
    for (const index of this.#indexes) if (isListed(index, full)) this.#sorted.get(index.name)?.add(full);
  }

  #remove(text: string): void {
    const row = this.#rows.get(text);
    if (row === undefined) return;
    this.#rows.delete(text);
    for (const index of this.#indexes) if (isListed(index, row)) this.#sorted.get(index.name)?.remove(row);
  }

  #range(index: IndexShape, prefix: Key, reverse: boolean, limit: number): AnyRow[] {
    const [inside, beyond] = bounds(index, prefix, undefined, undefined, undefined);
    return this.#sorted.get(index.name)?.range(inside, beyond, reverse, limit) ?? [];
  }
}

/** An index leaves out the rows whose first column is null. */
const isListed = (index: IndexShape, row: AnyRow): boolean => row[index.columns[0] as string] !== null;

/** A value as it is stored: -0 is 0, and bytes are a copy. */
function kept(value: Value | undefined): Value {
  if (typeof value === "number") return value + 0;
  return value instanceof Uint8Array ? value.slice() : (value ?? null);
}

/** A row for a reader, who may change its bytes. */
function copy(row: AnyRow): AnyRow {
  const mine: Record<string, Value> = {};
  for (const name in row) mine[name] = kept(row[name]);
  return mine;
}

/** Where a range begins, and where it is over, as conditions that hold from some row on. */
function bounds(
  index: IndexShape,
  prefix: Key,
  from: Value | undefined,
  after: Value | undefined,
  below: Value | undefined,
): readonly [inside: (row: AnyRow) => boolean, beyond: (row: AnyRow) => boolean] {
  const columns = index.columns.slice(0, prefix.length + 1);
  const compare = (row: AnyRow, key: Key): number => compareKeys(valuesOf(row, columns), key);
  // Null comes first, and is within no bound.
  const start = after !== undefined ? after : from === undefined && below !== undefined ? null : undefined;
  const inside =
    start !== undefined
      ? (row: AnyRow) => compare(row, [...prefix, start]) > 0
      : (row: AnyRow) => compare(row, from === undefined ? prefix : [...prefix, from]) >= 0;
  const beyond =
    below === undefined
      ? (row: AnyRow) => compare(row, prefix) > 0
      : (row: AnyRow) => compare(row, [...prefix, below]) >= 0;
  return [inside, beyond];
}
