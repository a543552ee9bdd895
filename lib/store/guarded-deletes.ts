// Rows of a group that need no look before they are removed: the set that expects them to be as it says removes them, and no other write or
// expectation of the group is about them. A server removes each of them on that condition, and says how many it removed: a read and a lock
// less for each row. If one was not as expected, the group is carried out once more, with a look. Pure.

import type { AnyRow, Table } from "./table.js";
import { shapeOf, textOf, valuesOf } from "./table-shape.js";
import type { Expectation, Key, Write, WriteSet } from "./write-set.js";

/** By name of the table and text of the key: the values that the row has when it is removed. */
export type Guarded = ReadonlyMap<string, ReadonlyMap<string, AnyRow>>;

export const NO_GUARDS: Guarded = new Map();

/** Whether the driver itself sees to it that this holds. */
export function isGuarded(one: Expectation, guarded: Guarded): boolean {
  if (guarded.size === 0 || "prefix" in one) return false;
  return guarded.get(one.table.name)?.has(textOf(one.key)) === true;
}

interface Candidates {
  readonly is: Map<string, AnyRow>;
  /** How often a write or an expectation of the group is about a row. */
  readonly uses: Map<string, number>;
  isSpoiled: boolean;
}

/** An expectation and a removal. */
const USES = 2;

/** The rows of a group that can be removed on the condition that their sets expect. */
export function guardedDeletes(sets: readonly WriteSet[]): Guarded {
  const tables = new Map<string, Candidates>();
  for (const set of sets) propose(set, tables);
  if (tables.size === 0) return NO_GUARDS;
  for (const { writes, expect = [] } of sets) {
    for (const write of writes) use(write, tables);
    for (const one of expect)
      if ("prefix" in one) spoil(one.table, tables);
      else count(one.table, one.key, tables);
  }
  const guarded = new Map<string, ReadonlyMap<string, AnyRow>>();
  for (const [name, { is, uses, isSpoiled }] of tables) {
    if (isSpoiled) continue;
    for (const text of is.keys()) if (uses.get(text) !== USES) is.delete(text);
    if (is.size > 0) guarded.set(name, is);
  }
  return guarded;
}

function propose({ writes, expect = [] }: WriteSet, tables: Map<string, Candidates>): void {
  const expected = new Map<Table, Map<string, AnyRow>>();
  for (const one of expect) {
    if ("prefix" in one || typeof one.is !== "object" || shapeOf(one.table).unique.length > 0) continue;
    let of = expected.get(one.table);
    if (of === undefined) {
      of = new Map();
      expected.set(one.table, of);
    }
    of.set(textOf(one.key), one.is);
  }
  if (expected.size === 0) return;
  for (const write of writes) {
    if (write.type !== "delete" || write.blind !== true) continue;
    const text = textOf(write.key);
    const is = expected.get(write.table)?.get(text);
    if (is === undefined) continue;
    const { name } = write.table;
    let into = tables.get(name);
    if (into === undefined) {
      into = { is: new Map(), uses: new Map(), isSpoiled: false };
      tables.set(name, into);
    }
    into.is.set(text, is);
  }
}

function use(write: Write, tables: Map<string, Candidates>): void {
  const { table } = write;
  switch (write.type) {
    case "when":
      count(table, write.key, tables);
      for (const one of write.writes) use(one, tables);
      return;
    case "clear":
      spoil(table, tables);
      return;
    case "update":
    case "delete":
      count(table, write.key, tables);
      return;
    default:
      if (table.counted === undefined) count(table, valuesOf(write.row, table.key), tables);
  }
}

function count({ name }: Table, key: Key, tables: Map<string, Candidates>): void {
  const uses = tables.get(name)?.uses;
  if (uses === undefined) return;
  const text = textOf(key);
  uses.set(text, (uses.get(text) ?? 0) + 1);
}

function spoil({ name }: Table, tables: Map<string, Candidates>): void {
  const into = tables.get(name);
  if (into !== undefined) into.isSpoiled = true;
}
