// The facts about a table that the store needs, computed once: kinds of columns, places of keys, which indexes are unique.

import type { AnyRow, ColumnType, Table, Value } from "./table.js";
import type { Key } from "./write-set.js";

/** The values of a column, and whether it may be null. */
export interface ColumnShape {
  readonly name: string;
  readonly kind: "text" | "integer" | "real" | "payload";
  readonly nullable: boolean;
  readonly inKey: boolean;
  /** The store numbers this column. */
  readonly counted: boolean;
}

/** An index, the key included: it has the name `""`. */
export interface IndexShape {
  readonly name: string;
  readonly columns: readonly string[];
  readonly unique: boolean;
}

/** A table, as the store uses it. */
export interface TableShape {
  readonly table: Table;
  readonly columns: readonly ColumnShape[];
  readonly byName: ReadonlyMap<string, ColumnShape>;
  readonly key: readonly string[];
  readonly counted: string | undefined;
  readonly indexes: ReadonlyMap<string, IndexShape>;
  /** The unique indexes besides the key. */
  readonly unique: readonly IndexShape[];
  /** An insert needs no look at the rows that are there: the store numbers its rows, and there is no unique index. */
  readonly appends: boolean;
}

const shapes = new WeakMap<Table, TableShape>();
/** Most calls are about the table of the call before. */
let last: TableShape | undefined;

/** The shape of a table. */
export function shapeOf(table: Table): TableShape {
  if (last?.table === table) return last;
  let shape = shapes.get(table);
  if (shape === undefined) {
    shape = measure(table);
    shapes.set(table, shape);
  }
  last = shape;
  return shape;
}

function measure(table: Table): TableShape {
  const columns = Object.entries(table.columns).map(
    ([name, type]: [string, ColumnType]): ColumnShape => ({
      name,
      kind: type.replace("?", "") as ColumnShape["kind"],
      nullable: type.endsWith("?"),
      inKey: table.key.includes(name),
      counted: table.counted === name,
    }),
  );
  const indexes = new Map<string, IndexShape>([["", { name: "", columns: table.key, unique: true }]]);
  for (const [name, list] of Object.entries(table.indexes ?? {}))
    indexes.set(name, { name, columns: list, unique: table.unique?.includes(name) === true });
  const unique = [...indexes.values()].filter((index) => index.unique && index.name !== "");
  return {
    table,
    columns,
    byName: new Map(columns.map((column) => [column.name, column])),
    key: table.key,
    counted: table.counted,
    indexes,
    unique,
    appends: table.counted !== undefined && unique.length === 0,
  };
}

/** Whether an update changes columns of this index. */
export function isTouched(index: IndexShape, set: AnyRow | undefined, add: object | undefined): boolean {
  return index.columns.some(
    (name) => (set !== undefined && name in set) || (add !== undefined && name in add),
  );
}

/** The values of these columns of a row. A column that the row leaves out is null. */
export function valuesOf(row: AnyRow, columns: readonly string[]): Key {
  if (columns.length === 1) return [row[columns[0] as string] ?? null];
  return columns.map((column) => row[column] ?? null);
}

/** One text for each key, for maps. */
export function textOf(key: Key): string {
  if (key.length === 1) return textOfValue(key[0] as Value);
  let text = "";
  // A string begins with its length, and any other value ends with a semicolon, so two keys never give the same text.
  for (const value of key)
    text += typeof value === "string" ? `${value.length}:${value}` : `${textOfValue(value)};`;
  return text;
}

function textOfValue(value: Value): string {
  if (typeof value === "string") return `s${value}`;
  // -0 and 0 are one value.
  if (typeof value === "number") return `n${value + 0}`;
  return value === null ? "0" : `b${Array.from(value).join()}`;
}

/** The order of scans: null first, numbers by size, texts by code points, as SQLite and PostgreSQL's "C" have them. */
export function compareValues(one: Value, other: Value): number {
  if (one === other) return 0;
  if (one === null) return -1;
  if (other === null) return 1;
  if (typeof one === "string" && typeof other === "string") return compareTexts(one, other);
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Compares keys column by column, as far as both go. */
export function compareKeys(one: Key, other: Key): number {
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(one[i] as Value, other[i] as Value);
    if (order !== 0) return order;
  }
  return 0;
}

/** The order of an index. Rows with the same values there come in the order of their key. */
export function orderOf(index: IndexShape, table: Table): (one: AnyRow, other: AnyRow) => number {
  const names = [...index.columns, ...table.key.filter((name) => !index.columns.includes(name))];
  return (one, other) => {
    for (const name of names) {
      const order = compareValues(one[name] ?? null, other[name] ?? null);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Whether an index holds this row, under values that begin so. */
export function isIn(index: IndexShape, prefix: Key, row: AnyRow): boolean {
  const first = row[index.columns[0] as string] ?? null;
  // A key has no null; a row of a counted table has no number until it is written.
  if (first === null && index.name !== "") return false;
  return prefix.every((value, i) => sameValue(value, row[index.columns[i] as string] ?? null));
}

/** By code points, where `<` compares UTF-16 units: the two differ beyond U+D800. */
function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const a = one.charCodeAt(i);
    const b = other.charCodeAt(i);
    if (a === b) continue;
    // A surrogate stands for a code point above all others.
    const highA = a >= 0xd800 && a < 0xe000;
    const highB = b >= 0xd800 && b < 0xe000;
    return highA === highB ? a - b : highA ? 1 : -1;
  }
  return one.length - other.length;
}

/** Whether two values of a column are the same. */
export function sameValue(one: Value, other: Value): boolean {
  if (one === other) return true;
  if (!(one instanceof Uint8Array) || !(other instanceof Uint8Array)) return false;
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}
