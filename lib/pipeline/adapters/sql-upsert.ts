// Writes messages as rows of a table, by a key: a row that is there is changed.

import { InvariantError, OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { text, withMethod } from "../../process/options.js";
import type { BatchAdapter, BatchLimits } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";
import { ADAPTER_DEFAULTS } from "./defaults.js";
import { UnwritableError } from "./errors.js";
import type { SqlTarget } from "./sql-port.js";
import { batchOption } from "./values.js";

/** Options of {@link sqlUpsert}. */
export interface SqlUpsertOptions<T> {
  /** The database: {@link sqliteTarget} or {@link postgresTarget}. */
  readonly target: SqlTarget;
  /** The table, with its schema before a dot if it has one. It has a primary key or a unique index on `key`. */
  readonly table: string;
  /** The columns of the key: names of the value's fields. */
  readonly key: readonly (keyof T & string)[];
  /** All columns that are written: names of the value's fields. */
  readonly columns: readonly (keyof T & string)[];
  /** A column that grows with each change. A row is not changed by a value that is older. */
  readonly version?: keyof T & string;
  /** How many rows one statement writes, and how long it waits for them. Default: 100 rows, 1,000 ms. */
  readonly batch?: Partial<BatchLimits>;
}

/**
 * Writes each message as a row, and passes it on: a batch is one statement. The row is found by its key, so a message that is tried
 * again changes nothing. Messages may come in another order than they were sent, after a retry for example: `version` keeps the newest.
 *
 * @throws OptionError
 * @see https://www.sqlite.org/lang_upsert.html and https://www.postgresql.org/docs/current/sql-insert.html
 * @example
 * const save = sqlUpsert<{ airport: string; strikes: number }>("save", {
 *   target: sqliteTarget(new DatabaseSync("report.db")),
 *   table: "strikes",
 *   key: ["airport"],
 *   columns: ["airport", "strikes"],
 * });
 */
export function sqlUpsert<T extends object>(name: string, options: SqlUpsertOptions<T>): BatchAdapter<T, T> {
  checkName("name", name);
  only("", options, ["target", "table", "key", "columns", "version", "batch"]);
  const { target } = options;
  withMethod("target", target, "run", "a database: sqliteTarget(…) or postgresTarget(…)");
  const layout = checkLayout(options);
  const batch = batchOption("batch", options.batch);
  const most = Math.floor(ADAPTER_DEFAULTS.sqlParameters / layout.columns.length);
  if (batch.size > most)
    throw new OptionError("batch.size", batch.size, `at most ${most}, for ${layout.columns.length} columns`);
  return {
    name,
    batch,
    async processBatch(values, { fail }) {
      const written: T[] = [];
      const rows = new Map<string, T>();
      for (const [i, value] of values.entries()) {
        const missing = missingField(layout, value);
        if (missing !== undefined) {
          fail(i, new UnwritableError(name, missing));
          continue;
        }
        written.push(value);
        keepNewest(layout, rows, value);
      }
      if (rows.size > 0)
        await target.run(
          statementOf(layout, target, rows.size),
          [...rows.values()].flatMap((row) => layout.columns.map((column) => fieldOf(row, column) ?? null)),
        );
      return written;
    },
  };
}

interface UpsertLayout {
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  readonly version: string | undefined;
}

/** @throws OptionError */
function checkLayout({ table, key, columns, version }: SqlUpsertOptions<never>): UpsertLayout {
  text("table", table);
  for (const [path, names] of [
    ["columns", columns],
    ["key", key],
  ] as const) {
    if (!Array.isArray(names) || names.length === 0 || new Set(names).size < names.length)
      throw new OptionError(path, names, "a list of names, each once");
    for (const [i, one] of names.entries()) text(`${path}[${i}]`, one);
  }
  const known: readonly string[] = columns;
  for (const [i, one] of (key as readonly string[]).entries())
    if (!known.includes(one))
      throw new OptionError(`key[${i}]`, one, `one of the columns ${known.join(", ")}`);
  if (version !== undefined && !known.includes(version))
    throw new OptionError("version", version, `one of the columns ${known.join(", ")}`);
  return { table, key, columns, version };
}

function fieldOf(value: object, column: string): unknown {
  return Object.hasOwn(value, column) ? (value as Record<string, unknown>)[column] : undefined;
}

function missingField({ key, version }: UpsertLayout, value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return "the value is no object";
  for (const column of version === undefined ? key : [...key, version]) {
    const field = fieldOf(value, column);
    if (field === undefined || field === null) return `the value has no ${column}`;
  }
  return undefined;
}

/** A statement may not change a row twice: the last value of a key counts, or the newest. */
function keepNewest<T extends object>({ key, version }: UpsertLayout, rows: Map<string, T>, value: T): void {
  const at = JSON.stringify(key.map((column) => String(fieldOf(value, column))));
  const before = rows.get(at);
  if (
    before !== undefined &&
    version !== undefined &&
    isLess(fieldOf(value, version), fieldOf(before, version))
  )
    return;
  rows.set(at, value);
}

function isLess(one: unknown, other: unknown): boolean {
  return (one as number) < (other as number);
}

function statementOf(
  { table, key, columns, version }: UpsertLayout,
  target: SqlTarget,
  rows: number,
): string {
  if (rows < 1) throw new InvariantError("a statement writes a row at least");
  const into = table.split(".").map(quoted).join(".");
  let n = 0;
  const row = (): string => `(${columns.map(() => target.placeholder(++n)).join(", ")})`;
  const values = Array.from({ length: rows }, row).join(", ");
  const changed = columns.filter((column) => !key.includes(column));
  const update = changed.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(", ");
  const newer =
    version === undefined ? "" : ` where ${into}.${quoted(version)} <= excluded.${quoted(version)}`;
  const then = changed.length === 0 ? "do nothing" : `do update set ${update}${newer}`;
  return `insert into ${into} (${columns.map(quoted).join(", ")}) values ${values} on conflict (${key.map(quoted).join(", ")}) ${then}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
