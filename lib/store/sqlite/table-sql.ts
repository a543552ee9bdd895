// Tables as SQLite has them: definitions, and the statements of plans and scans. Pure texts and parameters.

import type { CheckedScan } from "../driver.js";
import type { Statement } from "../statement.js";
import type { AnyRow, Table, Value } from "../table.js";
import {
  type ColumnShape,
  type IndexShape,
  shapeOf,
  type TableShape,
  textOf,
  valuesOf,
} from "../table-shape.js";
import type { Key } from "../write-set.js";
import type { Query, StatementBatch } from "./jobs.js";

/** Names of the library's tables begin so: users may not touch them, and have all other names for themselves. */
export const PREFIX = "signalbox_";

/** Rows in one statement. Beyond 50 it is hardly faster, and each number of rows is a statement to keep prepared. */
const ROWS = 50;
/** Keys with a common beginning for which a statement of their own pays. */
const FEWEST_KEYS = 8;
/** SQLite's bound on the parameters of a statement. */
const PARAMETERS = 32_766;

export const quoted = (name: string): string => `"${name}"`;
const list = (names: readonly string[]): string => names.map(quoted).join(", ");
const marks = (n: number): string => `(${Array<string>(n).fill("?").join(",")})`;
const matches = (names: readonly string[]): string =>
  names.map((name) => `${quoted(name)} = ?`).join(" and ");
const chunk = (width: number): number =>
  Math.max(1, Math.min(ROWS, Math.floor(PARAMETERS / Math.max(1, width))));

const TYPES: Readonly<Record<ColumnShape["kind"], string>> = {
  text: "text",
  integer: "integer",
  real: "real",
  // Text and bytes as they are.
  payload: "any",
};

/** The SQL of one table. Statements are made once for each set of columns. */
export class TableSql {
  readonly table: Table;
  readonly shape: TableShape;
  /** Without quotes. */
  readonly plainName: string;
  readonly #name: string;
  readonly #names: readonly string[];
  readonly #updates = new Map<string, Omit<StatementBatch, "values">>();
  readonly #inserts = new Map<string, Omit<StatementBatch, "values">>();
  readonly #deletes: Omit<StatementBatch, "values">;
  readonly #deletesBelow: Omit<StatementBatch, "values">;

  constructor(table: Table) {
    this.table = table;
    this.shape = shapeOf(table);
    this.plainName = PREFIX + table.name;
    this.#name = quoted(this.plainName);
    this.#names = this.shape.columns.map(({ name }) => name);
    this.#deletes = this.#deletesByRow();
    this.#deletesBelow = this.#deletesByPrefix();
  }

  /** Creates the table. */
  create(): string {
    const { columns, key, counted } = this.shape;
    if (counted !== undefined) {
      const rest = columns.filter((column) => !column.counted).map((column) => this.#define(column));
      // A number is never given twice, not even after its row is gone.
      const number = `${quoted(counted)} integer primary key autoincrement`;
      return `create table ${this.#name} (${[number, ...rest].join(", ")}) strict`;
    }
    const defined = columns.map((column) => this.#define(column)).join(", ");
    const layout = this.#hasRowid ? "strict" : "strict, without rowid";
    return `create table ${this.#name} (${defined}, primary key (${list(key)})) ${layout}`;
  }

  /** Adds a column to a table that may have rows: null in all of them. */
  addColumn(name: string): string {
    const { kind } = this.shape.byName.get(name) as ColumnShape;
    return `alter table ${this.#name} add column ${quoted(name)} ${TYPES[kind]}`;
  }

  /** The indexes by their names in the file. */
  indexes(): Map<string, string> {
    const all = [...this.shape.indexes.values()].filter(({ name }) => name !== "");
    return new Map(
      all.map((index) => {
        const name = `${this.plainName}_by_${index.name}`;
        const unique = index.unique ? "unique " : "";
        const where = this.#isPartial(index)
          ? ` where ${quoted(index.columns[0] as string)} is not null`
          : "";
        return [
          name,
          `create ${unique}index ${quoted(name)} on ${this.#name} (${list(index.columns)})${where}`,
        ];
      }),
    );
  }

  /** Deletes of keys that differ in more than their last column, as one for each beginning of a key. */
  split(statement: Statement): readonly Statement[] {
    if (statement.type !== "delete" || this.shape.key.length === 1) return [statement];
    const { table } = statement;
    const groups = new Map<string, Key[]>();
    let group: Key[] = [];
    for (const key of statement.keys) {
      // Mostly they come in groups already.
      if (isBeside(group[0], key)) {
        group.push(key);
        continue;
      }
      const text = textOf(key.slice(0, -1));
      group = groups.get(text) ?? [];
      groups.set(text, group);
      group.push(key);
    }
    // Keys that have little in common are one statement as they are.
    if (groups.size * FEWEST_KEYS > statement.keys.length) return [statement];
    return [...groups.values()].map((keys) => ({ type: "delete", table, keys }));
  }

  /** The step that carries out a statement of a plan. `number` gives the next number of a row of a counted table. */
  step(statement: Statement, number: () => number): StatementBatch {
    switch (statement.type) {
      case "insert":
        return this.#insert(statement.rows, number, false);
      case "put":
        return this.#insert(statement.rows, number, true);
      case "update":
        return this.#update(statement.columns, statement.rows);
      case "delete":
        return this.#delete(statement.keys);
      default:
        return this.#clear(statement.index, statement.prefix);
    }
  }

  /** Rows with these keys, or these values of an index. */
  find(columns: readonly string[], by: readonly string[], keys: readonly Key[]): Query[] {
    const start = `select ${list(columns)} from ${this.#name} where `;
    if (by.length === 1) {
      const most = 500;
      return pieces(keys, most).map((some) => ({
        sql: `${start}${quoted(by[0] as string)} in ${marks(some.length)}`,
        parameters: some.flat(),
      }));
    }
    // One for each: with row values SQLite searches by the first column alone.
    const sql = start + matches(by);
    return keys.map((key) => ({ sql, parameters: [...key] }));
  }

  scan(scan: CheckedScan): Query {
    return this.#scan(scan, this.#where(scan));
  }

  /** Scans with these prefixes of one value each. */
  scanAll(scan: CheckedScan, prefixes: readonly Value[]): Query {
    // Each number of values is a statement to keep prepared: the last value is repeated up to the next power of two.
    const most = 2 ** Math.ceil(Math.log2(prefixes.length));
    const values = Array.from(
      { length: most },
      (_, i) => prefixes[Math.min(i, prefixes.length - 1)] as Value,
    );
    return this.#scan(scan, this.#where(scan, values));
  }

  #scan(scan: CheckedScan, [where, parameters]: readonly [string, Value[]]): Query {
    const order = [...new Set([...scan.index.columns, ...this.shape.key])]
      .map((name) => quoted(name) + (scan.reverse ? " desc" : ""))
      .join(", ");
    return {
      sql: `select ${list(this.#names)} from ${this.#name}${where} order by ${order} limit ?`,
      parameters: [...parameters, scan.limit],
    };
  }

  count(scan: CheckedScan, atMost?: number): Query {
    const [where, parameters] = this.#where(scan);
    if (atMost !== undefined) {
      const rows = `select 1 from ${this.#name}${where} limit ?`;
      return { sql: `select count(*) as n from (${rows})`, parameters: [...parameters, atMost] };
    }
    return { sql: `select count(*) as n from ${this.#name}${where}`, parameters };
  }

  get columns(): readonly string[] {
    return this.#names;
  }

  #define({ name, kind, nullable }: ColumnShape): string {
    return `${quoted(name)} ${TYPES[kind]}${nullable ? "" : " not null"}`;
  }

  #isPartial(index: IndexShape): boolean {
    return this.shape.byName.get(index.columns[0] as string)?.nullable === true;
  }

  /** The number of a counted row is its first value. Columns that are null in all rows are left out. `replace`: rows with the same keys get these values, and null elsewhere. */
  #insert(rows: readonly AnyRow[], number: () => number, replace: boolean): StatementBatch {
    const { counted } = this.shape;
    const used = this.#names.filter(
      (name) => name !== counted && rows.some((row) => (row[name] ?? null) !== null),
    );
    const names = counted === undefined ? used : [counted, ...used];
    const text = `${replace} ${names.join()}`;
    let step = this.#inserts.get(text);
    if (step === undefined) {
      const width = names.length;
      const head = `insert into ${this.#name} (${list(names)}) values `;
      step = {
        head,
        tuple: marks(width),
        tail: replace ? this.#onConflict(names) : "",
        most: chunk(width),
        width,
      };
      this.#inserts.set(text, step);
    }
    return { ...step, values: this.#values(names, rows, number) };
  }

  #onConflict(given: readonly string[]): string {
    const { key } = this.shape;
    const set = this.#names
      .filter((name) => !key.includes(name))
      .map((name) => `${quoted(name)} = ${given.includes(name) ? `excluded.${quoted(name)}` : "null"}`);
    return ` on conflict (${list(key)}) do ${set.length === 0 ? "nothing" : `update set ${set.join(", ")}`}`;
  }

  #values(names: readonly string[], rows: readonly AnyRow[], number: () => number): Value[] {
    const { counted } = this.shape;
    const values: Value[] = [];
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] as AnyRow;
      for (let k = 0; k < names.length; k++) {
        const name = names[k] as string;
        // A row that has its number already is one that is written anew.
        values.push(row[name] ?? (name === counted ? number() : null));
      }
    }
    return values;
  }

  #update(columns: readonly string[], rows: readonly AnyRow[]): StatementBatch {
    const text = columns.join();
    let step = this.#updates.get(text);
    const { key } = this.shape;
    if (step === undefined) {
      const place = (i: number): string => `v.column${key.length + i + 1}`;
      const set = columns.map((name, i) => `${quoted(name)} = ${place(i)}`).join(", ");
      const found = key.map((name, i) => `${this.#name}.${quoted(name)} = v.column${i + 1}`).join(" and ");
      const width = key.length + columns.length;
      const head = `update ${this.#name} set ${set} from (values `;
      step = { head, tuple: marks(width), tail: `) as v where ${found}`, most: chunk(width), width };
      this.#updates.set(text, step);
    }
    const names = [...key, ...columns];
    return { ...step, values: rows.flatMap((row) => valuesOf(row, names) as Value[]) };
  }

  #delete(keys: readonly Key[]): StatementBatch {
    const prefix = this.#commonPrefix(keys);
    if (prefix === undefined) return { ...this.#deletes, values: keys.flat() };
    const last = prefix.length;
    return { ...this.#deletesBelow, fixed: prefix, values: keys.map((one) => one[last] as Value) };
  }

  /** The values that all keys have in common, if they differ in the last one alone. */
  #commonPrefix(keys: readonly Key[]): readonly Value[] | undefined {
    const [first] = keys;
    if (first === undefined) return undefined;
    const prefix = first.slice(0, -1);
    return keys.every((one) => prefix.every((value, i) => value === one[i])) ? prefix : undefined;
  }

  /** Rows lie where their key is. Large values would make that tree deep. */
  get #hasRowid(): boolean {
    return this.shape.columns.some(({ kind }) => kind === "payload");
  }

  /** With row values SQLite searches by the first column alone, so keys of several columns are joined. */
  #deletesByRow(): Omit<StatementBatch, "values"> {
    const { key } = this.shape;
    const width = key.length;
    if (!this.#hasRowid) {
      const head = `delete from ${this.#name} where ${matches(key)}`;
      return { head, tuple: "", tail: "", most: 1, width };
    }
    const on = key.map((name, i) => `t.${quoted(name)} = v.column${i + 1}`).join(" and ");
    return {
      head: `delete from ${this.#name} where rowid in (select t.rowid from (values `,
      tuple: marks(width),
      tail: `) as v cross join ${this.#name} as t on ${on})`,
      most: chunk(width),
      width,
    };
  }

  /** Keys that differ in their last column alone. */
  #deletesByPrefix(): Omit<StatementBatch, "values"> {
    const { key } = this.shape;
    const above = key.slice(0, -1);
    const where = above.length === 0 ? "" : `${matches(above)} and `;
    const head = `delete from ${this.#name} where ${where}${quoted(key.at(-1) as string)} in (`;
    return { head, tuple: "?", tail: ")", most: ROWS, width: 1 };
  }

  #clear(name: string, prefix: Key): StatementBatch {
    const index = this.shape.indexes.get(name) as IndexShape;
    const [where, values] = this.#where({ index, prefix });
    return {
      head: `delete from ${this.#name}${where}`,
      tuple: "",
      tail: "",
      most: 1,
      width: values.length,
      values,
    };
  }

  /** @param firsts - values of the index's first column; absent: the prefix */
  #where(
    scan: Pick<CheckedScan, "index" | "prefix"> & Partial<CheckedScan>,
    firsts?: readonly Value[],
  ): readonly [string, Value[]] {
    const { index, prefix, from, after, below, where = {} } = scan;
    const terms =
      firsts === undefined
        ? prefix.map((_, i) => `${quoted(index.columns[i] as string)} = ?`)
        : [`${quoted(index.columns[0] as string)} in ${marks(firsts.length)}`];
    const parameters: Value[] = [...(firsts ?? prefix)];
    const next = index.columns[prefix.length];
    for (const [sign, bound] of [
      [">=", from],
      [">", after],
      ["<", below],
    ] as const) {
      if (bound === undefined) continue;
      terms.push(`${quoted(next as string)} ${sign} ?`);
      parameters.push(bound);
    }
    for (const [name, value] of Object.entries(where)) {
      terms.push(`${quoted(name)} is ?`);
      parameters.push(value);
    }
    if (this.#isPartial(index)) terms.push(`${quoted(index.columns[0] as string)} is not null`);
    return [terms.length === 0 ? "" : ` where ${terms.join(" and ")}`, parameters];
  }
}

function pieces<T>(all: readonly T[], most: number): T[][] {
  const made: T[][] = [];
  for (let i = 0; i < all.length; i += most) made.push(all.slice(i, i + most));
  return made;
}

/** Whether two keys differ in their last column alone. */
function isBeside(one: Key | undefined, other: Key): boolean {
  if (one === undefined) return false;
  for (let i = 0; i < other.length - 1; i++) if (one[i] !== other[i]) return false;
  return true;
}
