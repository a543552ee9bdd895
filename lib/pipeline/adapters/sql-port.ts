// The user's own databases, as an upsert sees them.

import { OptionError } from "../../process/errors.js";
import type { SqlValue, Store } from "../../store/index.js";

/** A database that takes one statement with its values. See {@link sqliteTarget} and {@link postgresTarget}. */
export interface SqlTarget {
  /** How the n-th value is written in a statement, from 1. */
  placeholder(n: number): string;
  /** Runs a statement as one transaction. */
  run(sql: string, values: readonly unknown[]): void | PromiseLike<void>;
}

/** A prepared statement of node:sqlite, better-sqlite3 or libsql. */
export interface SqliteStatement {
  /** Runs it. */
  run(...values: never[]): unknown;
}

/** An open database of node:sqlite, better-sqlite3 or libsql. */
export interface SqliteDatabase {
  /** Prepares a statement. */
  prepare(sql: string): SqliteStatement;
}

/** An open store of signalbox on the same kind of database. */
export type SqlStore = Pick<Store, "transaction">;

/** A pool or a client of `pg`, or a database of PGlite. */
export interface PostgresClient {
  /** Runs a statement. */
  query(sql: string, values: unknown[]): PromiseLike<unknown>;
}

/**
 * A SQLite database that the program has opened: by node:sqlite, better-sqlite3 or libsql, or as a {@link Store}. Booleans are written as 0
 * and 1, Dates as their ISO texts, and objects as JSON.
 *
 * @example const target = sqliteTarget(new DatabaseSync("report.db"));
 */
export function sqliteTarget(database: SqliteDatabase | SqlStore): SqlTarget {
  if (
    typeof database !== "object" ||
    database === null ||
    !("prepare" in database || "transaction" in database)
  )
    throw new OptionError("database", database, "a database of SQLite, or an open store");
  if (!("prepare" in database)) return { placeholder: () => "?", run: inStore(database) };
  // An upsert has one statement for each size of its batches: few.
  const prepared = new Map<string, SqliteStatement>();
  return {
    placeholder: () => "?",
    run(sql, values) {
      let statement = prepared.get(sql);
      if (statement === undefined) {
        statement = database.prepare(sql);
        prepared.set(sql, statement);
      }
      statement.run(...(values.map(plainValue) as never[]));
    },
  };
}

/**
 * A PostgreSQL database, through the program's own client, or as a {@link Store}. In a store, values are written as in {@link sqliteTarget}.
 *
 * @example const target = postgresTarget(new Pool({ connectionString: "postgres://localhost/report" }));
 */
export function postgresTarget(client: PostgresClient | SqlStore): SqlTarget {
  if (typeof client !== "object" || client === null || !("query" in client || "transaction" in client))
    throw new OptionError("client", client, "a client of PostgreSQL, or an open store");
  const placeholder = (n: number): string => `$${n}`;
  if (!("query" in client)) return { placeholder, run: inStore(client) };
  return {
    placeholder,
    async run(sql, values) {
      await client.query(sql, [...values]);
    },
  };
}

/** Each statement in a transaction of its own. */
function inStore(store: SqlStore): SqlTarget["run"] {
  return async (sql, values) => {
    const parameters = values.map(plainValue) as SqlValue[];
    await store.transaction((tx) => tx.execute(sql, parameters));
  };
}

/** Drivers take no booleans, Dates or objects, or each in its own way. */
function plainValue(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const { toISOString } = value as { readonly toISOString?: unknown };
  return typeof toISOString === "function" ? toISOString.call(value) : JSON.stringify(value);
}
