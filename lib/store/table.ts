// Tables of a store: named columns, a primary key and indexes. The same definition serves all kinds of store.

import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import { text } from "../process/options.js";

/**
 * Type of a column. `payload` holds a text or bytes, as an encoder gives them, and has no index. A `?` at the end allows null.
 */
export type ColumnType = ColumnKind | `${ColumnKind}?`;
type ColumnKind = "text" | "integer" | "real" | "payload";

/** The type of the values of a column. */
export type ColumnValue<T extends ColumnType> = T extends `${infer K extends ColumnKind}?`
  ? ColumnValue<K> | null
  : T extends "text"
    ? string
    : T extends "payload"
      ? string | Uint8Array
      : number;

/** Names and types of the columns of a table. */
export type Columns = Readonly<Record<string, ColumnType>>;

/** A row of a table with these columns. */
export type RowOf<C extends Columns> = { readonly [K in keyof C]: ColumnValue<C[K]> };

/** Any value in a row. */
export type Value = string | number | Uint8Array | null;
/** A row of some table. */
export type AnyRow = Readonly<Record<string, Value>>;

/** What {@link defineTable} is given. */
export interface TableOptions<C extends Columns> {
  /** The columns by name, with their types. */
  readonly columns: C;
  /**
   * The primary key: columns that are never null. A table whose key is one `integer` column named in `counted` gives each inserted
   * row the next number.
   */
  readonly key: readonly (keyof C & string)[];
  /** The column that the store numbers: whole numbers that grow in the order of the inserts and are never used again. */
  readonly counted?: keyof C & string;
  /** Indexes by name: the columns by which rows are looked up and ordered. Rows whose first column is null are left out. */
  readonly indexes?: Readonly<Record<string, readonly (keyof C & string)[]>>;
  /** Indexes that allow no two rows with the same values, by name. Must be names of `indexes`. */
  readonly unique?: readonly string[];
}

/** A table. See {@link defineTable}, and {@link TableOptions} for what the fields mean. */
export interface Table<C extends Columns = Columns> {
  /** Unique in its store. */
  readonly name: string;
  /** The columns by name, with their types. */
  readonly columns: C;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** The column that the store numbers. */
  readonly counted?: string;
  /** The columns of each index, by its name. */
  readonly indexes?: Readonly<Record<string, readonly string[]>>;
  /** The names of the indexes that allow no two rows with the same values. */
  readonly unique?: readonly string[];
}

/** The row type of a table. */
export type Row<T> = T extends Table<infer C> ? RowOf<C> : never;

const NAME = /^[a-z][a-z0-9_]{0,40}$/;

/**
 * Defines a table of a store.
 *
 * @param name - lower case letters, digits and `_`; unique within its schema
 * @throws OptionError when a name is malformed, or a key or index names a column that does not exist or cannot be in it
 * @example
 * const orders = defineTable("orders", { columns: { id: "text", total: "real", due: "integer?" }, key: ["id"], indexes: { due: ["due"] } });
 */
export function defineTable<const C extends Columns>(name: string, options: TableOptions<C>): Table<C> {
  only("", options, ["columns", "key", "counted", "indexes", "unique"]);
  text("name", name);
  if (typeof options.columns !== "object" || options.columns === null)
    throw new OptionError("columns", options.columns, "an object of columns with their types");
  if (!Array.isArray(options.key)) throw new OptionError("key", options.key, "an array of columns");
  const named = (path: string, value: string): void => {
    if (!NAME.test(value))
      throw new OptionError(path, value, "lower case letters, digits and _, a letter first");
  };
  named("name", name);
  for (const column of Object.keys(options.columns)) named("columns", column);
  const known = (path: string, columns: readonly string[]): void => {
    for (const column of columns)
      if (!(column in options.columns))
        throw new OptionError(path, column, `one of the columns ${Object.keys(options.columns).join(", ")}`);
  };
  known("key", options.key);
  if (options.key.length === 0) throw new OptionError("key", options.key, "one column or more");
  for (const column of options.key)
    if (/\?$|payload/.test(options.columns[column] as string))
      throw new OptionError("key", column, "columns of type text, integer or real, without ?");
  const { counted } = options;
  if (counted !== undefined && (options.columns[counted] !== "integer" || options.key.join() !== counted))
    throw new OptionError("counted", counted, "an integer column that is the whole key");
  for (const [index, columns] of Object.entries(options.indexes ?? {})) {
    named("indexes", index);
    known(`indexes.${index}`, columns);
    const payload = columns.find((column) => options.columns[column]?.startsWith("payload"));
    if (payload !== undefined || columns.length === 0)
      throw new OptionError(`indexes.${index}`, payload, "columns of type text, integer or real");
  }
  for (const index of options.unique ?? [])
    if (options.indexes?.[index] === undefined)
      throw new OptionError(
        "unique",
        index,
        `one of the indexes ${Object.keys(options.indexes ?? {}).join(", ")}`,
      );
  return { name, ...options };
}
