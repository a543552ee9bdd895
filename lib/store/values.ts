// Checks write sets once, when they are submitted, and estimates their size. Every set passes here: a check costs a comparison or
// two for each value.

import { OptionError } from "../process/errors.js";
import { ValueError } from "./errors.js";
import type { AnyRow, Table, Value } from "./table.js";
import { type ColumnShape, isTouched, shapeOf, type TableShape } from "./table-shape.js";
import type { Expectation, Key, Write, WriteSet } from "./write-set.js";

/** The weight of a number, a null or a key in the estimate of a set's size. */
const SMALL = 8;
/** The weight of a write besides its values. */
const WRITE = 32;

/**
 * Checks a write set.
 *
 * @param tables - names of the tables that the store has; absent: any
 * @returns how many bytes it has, estimated: a text counts one for each UTF-16 unit
 * @throws ValueError, OptionError
 */
export function checkSet(set: WriteSet, tables?: ReadonlySet<string>): number {
  const { writes, expect, claim, notify } = set;
  if (!Array.isArray(writes)) throw new OptionError("writes", writes, "an array of writes");
  let bytes = WRITE;
  for (let i = 0; i < writes.length; i++) bytes += checkWrite(writes[i] as Write, tables);
  if (expect !== undefined)
    for (const one of expect) {
      if (tables !== undefined) checkTable(one.table, tables);
      bytes += checkExpectation(one);
    }
  if (claim !== undefined && !(typeof claim.name === "string" && Number.isSafeInteger(claim.token)))
    throw new OptionError("claim", claim, "a claim of this store");
  if (notify !== undefined) for (const topic of notify) bytes += checkTopic(topic);
  return bytes;
}

/** @throws OptionError unless the store has the table */
export function checkTable(table: Table, tables: ReadonlySet<string>): void {
  if (tables.has(table?.name)) return;
  const all = [...tables].join(", ");
  throw new OptionError(
    "table",
    table?.name,
    `a table of the schemas that the store was opened with: ${all}`,
  );
}

/** @throws OptionError unless the topic is a text that every store can carry */
export function checkTopic(topic: unknown): number {
  if (typeof topic === "string" && topic.length > 0 && topic.length <= TOPIC_LENGTH && isStorable(topic))
    return topic.length;
  throw new OptionError("notify", topic, `a text of 1 to ${TOPIC_LENGTH} characters`);
}

/** Most characters of a topic: PostgreSQL carries 8,000 bytes in a notification, for several topics. */
const TOPIC_LENGTH = 500;

function checkWrite(write: Write, tables: ReadonlySet<string> | undefined): number {
  if (tables !== undefined) checkTable(write.table, tables);
  const shape = shapeOf(write.table);
  switch (write.type) {
    case "insert":
    case "offer":
      return checkRow(shape, write.row);
    case "put":
      if (shape.counted !== undefined)
        throw new ValueError(write.table.name, "", "a put", "insert or update: the store numbers its rows");
      return checkRow(shape, write.row);
    case "update":
      return checkKey(write.table, write.key) + checkUpdate(shape, write.set, write.add);
    case "delete":
      return checkKey(write.table, write.key);
    case "clear":
      return checkPrefix(shape, write.index ?? "", write.prefix);
    case "when":
      return checkWhen(write, tables);
    default:
      throw new OptionError("writes", write, "insert, offer, put, update, delete, clear or when");
  }
}

function checkWhen(write: Extract<Write, { type: "when" }>, tables: ReadonlySet<string> | undefined): number {
  const { table, key, is, writes } = write;
  let bytes = checkValues(table, key, is, "writes");
  if (!Array.isArray(writes)) throw new OptionError("writes", writes, "an array of writes");
  for (const one of writes as readonly Write[]) {
    if (one.type === "when")
      throw new OptionError("writes", one.type, "a write without a condition, in a when");
    bytes += checkWrite(one, tables);
  }
  return bytes;
}

function checkRow(shape: TableShape, row: AnyRow): number {
  let bytes = WRITE;
  let given = 0;
  const { columns } = shape;
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i] as ColumnShape;
    const value = row[column.name];
    if (column.counted) {
      if (value !== undefined)
        throw new ValueError(shape.table.name, column.name, value, "absent: the store numbers its rows");
      continue;
    }
    if (value === undefined) {
      if (!column.nullable) throw new ValueError(shape.table.name, column.name, value, allowed(column));
      if (column.name in row) given++;
      continue;
    }
    given++;
    bytes += checkValue(shape, column, value);
  }
  for (const name in row) {
    given--;
    // One more than the table has: look which.
    if (given < 0) checkNames(shape, row);
    void name;
  }
  return bytes;
}

/** @throws ValueError for a column that the table does not have */
function checkNames(shape: TableShape, row: AnyRow): void {
  for (const name of Object.keys(row))
    if (!shape.byName.has(name))
      throw new ValueError(
        shape.table.name,
        name,
        row[name],
        `absent: the columns are ${[...shape.byName.keys()].join(", ")}`,
      );
}

function checkUpdate(
  shape: TableShape,
  set: AnyRow | undefined,
  add: Readonly<Record<string, number>> | undefined,
): number {
  let bytes = WRITE;
  if (set !== undefined)
    for (const name of Object.keys(set)) {
      const value = set[name];
      bytes += checkValue(shape, changeable(shape, name, value), value);
    }
  for (const [name, value] of Object.entries(add ?? {})) {
    const column = changeable(shape, name, value);
    if (column.kind !== "integer" && column.kind !== "real")
      throw new ValueError(shape.table.name, name, value, "set, not added to: it holds no number");
    if (set !== undefined && name in set)
      throw new ValueError(shape.table.name, name, value, "either set or added to");
    if (value === null) throw new ValueError(shape.table.name, name, value, "a number to add");
    bytes += checkValue(shape, column, value);
  }
  for (const index of shape.unique) {
    if (!isTouched(index, set, add)) continue;
    const missing = index.columns.find((name) => set === undefined || !(name in set));
    if (missing !== undefined)
      throw new ValueError(
        shape.table.name,
        missing,
        undefined,
        `set with all columns of its unique index ${index.name}`,
      );
  }
  return bytes;
}

function changeable(shape: TableShape, name: string, value: unknown): ColumnShape {
  const column = shape.byName.get(name);
  if (column !== undefined && !column.inKey) return column;
  const others = shape.columns.filter((one) => !one.inKey).map((one) => one.name);
  throw new ValueError(shape.table.name, name, value, `one of ${others.join(", ")}; a key does not change`);
}

function checkExpectation(one: Expectation): number {
  const { table } = one;
  if ("prefix" in one) {
    if (!(Number.isSafeInteger(one.rows) && one.rows >= 0))
      throw new OptionError("expect.rows", one.rows, "a whole number from 0");
    return checkPrefix(shapeOf(table), one.index ?? "", one.prefix);
  }
  const { key, is } = one;
  if (is === "absent" || is === "present") return checkKey(table, key);
  return checkValues(table, key, is, "expect");
}

/** A key, and values that a row may have. */
function checkValues(table: Table, key: Key, is: AnyRow, path: "expect" | "writes"): number {
  const shape = shapeOf(table);
  let bytes = checkKey(table, key);
  if (typeof is !== "object" || is === null)
    throw new OptionError(
      path,
      is,
      path === "expect" ? '"absent", "present" or values of columns' : "values of columns, in a when",
    );
  for (const [name, value] of Object.entries(is)) {
    const column = shape.byName.get(name);
    if (column === undefined) checkNames(shape, is);
    else bytes += value === null ? SMALL : checkValue(shape, column, value);
  }
  return bytes;
}

/** @throws ValueError unless these are the values of the table's key */
export function checkKey(table: Table, key: Key): number {
  const shape = shapeOf(table);
  if (!Array.isArray(key) || key.length !== shape.key.length)
    throw new ValueError(table.name, "", key, `found by a key [${shape.key.join(", ")}]`);
  return checkPrefix(shape, "", key);
}

/** @throws ValueError, OptionError unless these are values of the first columns of the index */
export function checkPrefix(shape: TableShape, index: string, prefix: Key): number {
  const found = shape.indexes.get(index);
  if (found === undefined)
    throw new OptionError(
      "index",
      index,
      `one of ${[...shape.indexes.keys()].slice(1).join(", ")}, or absent`,
    );
  if (!Array.isArray(prefix) || prefix.length > found.columns.length)
    throw new ValueError(shape.table.name, "", prefix, `found by [${found.columns.join(", ")}]`);
  let bytes = WRITE;
  for (let i = 0; i < prefix.length; i++) {
    const column = shape.byName.get(found.columns[i] as string) as ColumnShape;
    const value = prefix[i] as Value;
    if (value === null)
      throw new ValueError(shape.table.name, column.name, value, "a value: null is in no key");
    bytes += checkValue(shape, column, value);
  }
  return bytes;
}

function checkValue(shape: TableShape, column: ColumnShape, value: unknown): number {
  switch (column.kind) {
    case "integer":
      if (Number.isSafeInteger(value)) return SMALL;
      break;
    case "real":
      if (Number.isFinite(value)) return SMALL;
      break;
    case "payload":
      if (value instanceof Uint8Array) return value.length;
      if (typeof value === "string" && isStorable(value)) return value.length;
      break;
    default:
      if (typeof value === "string" && isStorable(value)) return value.length;
  }
  if (value === null && column.nullable) return SMALL;
  throw new ValueError(shape.table.name, column.name, value, allowed(column));
}

const ALLOWED = {
  text: "a text without NUL and without lone surrogates",
  integer: "a whole number of at most 2^53 - 1 in size",
  real: "a finite number",
  payload: "bytes, or a text without NUL and without lone surrogates",
} as const;

function allowed({ kind, nullable }: ColumnShape): string {
  return nullable ? `${ALLOWED[kind]}, or null` : ALLOWED[kind];
}

/** A text that every store keeps as it is: PostgreSQL has no NUL, and UTF-8 no lone surrogates. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && (text as string & { isWellFormed(): boolean }).isWellFormed();
}
