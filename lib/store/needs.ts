// Lists the rows and ranges that must be read, and on a shared database locked, before a group of write sets is decided. Pure.

import type { Table } from "./table.js";
import { compareKeys, isTouched, shapeOf, type TableShape, textOf, valuesOf } from "./table-shape.js";
import type { Expectation, Key, RowExpectation, RowWrite, Write, WriteSet } from "./write-set.js";

/** Rows of one table. */
export interface TableNeeds {
  readonly table: Table;
  /** The columns to read, the key first. */
  readonly columns: readonly string[];
  /** Rows with these keys, in their order, none twice. */
  readonly keys: readonly Key[];
  /** Rows with these values in a unique index, in their order, none twice. */
  readonly uniques: readonly { readonly index: string; readonly values: readonly Key[] }[];
  /** Ranges whose rows are to be counted, and kept as they are until the end of the group. None twice. */
  readonly ranges: readonly RangeNeeds[];
}

/** All rows whose index begins with these values. */
export interface RangeNeeds {
  readonly index: string;
  readonly prefix: Key;
}

/** A claim that write sets of the group act under. */
export interface ClaimNeeds {
  readonly name: string;
  readonly token: number;
}

/**
 * The reads that a group needs. Everything is sorted: writers that all lock the rows in this order, table by table, cannot deadlock.
 */
export interface Needs {
  readonly tables: readonly TableNeeds[];
  readonly claims: readonly ClaimNeeds[];
}

const NOTHING: readonly TableNeeds[] = [];

/** Lists the reads that the plan of this group needs. */
export function needs(sets: readonly WriteSet[]): Needs {
  const claims = new Map<string, ClaimNeeds>();
  let tables: Map<string, Collected> | undefined;
  let last: ClaimNeeds | undefined;
  for (const { writes, expect, claim } of sets) {
    // Most sets of a group have the claim of the one before.
    if (claim !== undefined && claim !== last) {
      last = claim;
      claims.set(`${claim.token} ${claim.name}`, claim);
    }
    tables = collectAll(tables, writes);
    if (expect === undefined) continue;
    tables ??= new Map();
    for (const one of expect) expected(collected(tables, shapeOf(one.table)), one);
  }
  if (tables !== undefined) for (const one of tables.values()) if (one.ranges.size > 0) replaced(one, sets);
  return {
    tables: tables === undefined ? NOTHING : [...tables.values()].filter(isAny).sort(byName).map(finished),
    claims: [...claims.values()].sort((a, b) =>
      a.name === b.name ? a.token - b.token : a.name < b.name ? -1 : 1,
    ),
  };
}

function collectAll(
  into: Map<string, Collected> | undefined,
  writes: readonly Write[],
): Map<string, Collected> | undefined {
  let tables = into;
  for (let i = 0; i < writes.length; i++) {
    const write = writes[i] as Write;
    const shape = shapeOf(write.table);
    if (write.type === "insert" && shape.appends) continue;
    tables ??= new Map();
    if (write.type === "when") {
      expectedRow(collected(tables, shape), write);
      collectAll(tables, write.writes);
    } else collect(collected(tables, shape), write);
  }
  return tables;
}

interface Collected {
  readonly shape: TableShape;
  readonly keys: Map<string, Key>;
  readonly uniques: Map<string, Map<string, Key>>;
  readonly ranges: Map<string, RangeNeeds>;
  readonly columns: Set<string>;
}

function collected(tables: Map<string, Collected>, shape: TableShape): Collected {
  const { name } = shape.table;
  let one = tables.get(name);
  if (one === undefined) {
    one = { shape, keys: new Map(), uniques: new Map(), ranges: new Map(), columns: new Set() };
    tables.set(name, one);
  }
  return one;
}

function collect(into: Collected, write: RowWrite): void {
  const { shape, columns } = into;
  switch (write.type) {
    case "insert":
    case "offer":
    case "put":
      // A put needs no look at the row that it replaces, unless an index has to forget that row's values.
      if (shape.counted === undefined && (write.type !== "put" || shape.unique.length > 0))
        addKey(into, valuesOf(write.row, shape.key));
      for (const index of shape.unique) addUnique(into, index.name, valuesOf(write.row, index.columns));
      return;
    case "update": {
      addKey(into, write.key);
      for (const name in write.add) columns.add(name);
      for (const index of shape.unique) {
        if (!isTouched(index, write.set, write.add)) continue;
        addUnique(into, index.name, valuesOf(write.set ?? {}, index.columns));
        // The row is written anew as a whole: see overlay.ts.
        for (const column of shape.columns) columns.add(column.name);
      }
      return;
    }
    case "delete":
      // As with a put: an index has to forget the values of the row.
      if (write.blind !== true || shape.unique.length > 0) addKey(into, write.key);
      return;
    default:
      for (const name of shape.indexes.get(write.index ?? "")?.columns ?? []) columns.add(name);
  }
}

function expected(into: Collected, one: Expectation): void {
  if ("prefix" in one) {
    const { index = "", prefix } = one;
    into.ranges.set(rangeText(index, prefix), { index, prefix });
    for (const name of into.shape.indexes.get(index)?.columns ?? []) into.columns.add(name);
    return;
  }
  expectedRow(into, one);
}

function expectedRow(into: Collected, { key, is }: Pick<RowExpectation, "key" | "is">): void {
  addKey(into, key);
  if (typeof is === "object") for (const name of Object.keys(is)) into.columns.add(name);
}

/** One text for each range of a table. */
export const rangeText = (index: string, prefix: Key): string => `${index} ${textOf(prefix)}`;

/** Where rows are counted, one that a put replaces or a blind delete removes is looked at: it may be in a range, or leave one. */
function replaced(into: Collected, sets: readonly WriteSet[]): void {
  const { key, table } = into.shape;
  const look = (write: Write): void => {
    if (write.type === "when") write.writes.forEach(look);
    else if (write.table.name !== table.name) return;
    else if (write.type === "put") addKey(into, valuesOf(write.row, key));
    else if (write.type === "delete") addKey(into, write.key);
  };
  for (const { writes } of sets) writes.forEach(look);
}

function addKey(into: Collected, key: Key): void {
  into.keys.set(textOf(key), key);
}

function addUnique(into: Collected, index: string, values: Key): void {
  // Null is unlike any other null, as in SQL.
  if (values.includes(null)) return;
  let all = into.uniques.get(index);
  if (all === undefined) {
    all = new Map();
    into.uniques.set(index, all);
  }
  all.set(textOf(values), values);
}

const isAny = (one: Collected): boolean => one.keys.size > 0 || one.uniques.size > 0 || one.ranges.size > 0;

const byName = (a: Collected, b: Collected): number => (a.shape.table.name < b.shape.table.name ? -1 : 1);

function finished({ shape, keys, uniques, ranges, columns }: Collected): TableNeeds {
  for (const index of shape.unique) for (const column of index.columns) columns.add(column);
  for (const column of shape.key) columns.delete(column);
  return {
    table: shape.table,
    columns: [...shape.key, ...columns],
    keys: [...keys.values()].sort(compareKeys),
    ranges: [...ranges.values()],
    uniques: [...uniques]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([index, values]) => ({ index, values: [...values.values()].sort(compareKeys) })),
  };
}
