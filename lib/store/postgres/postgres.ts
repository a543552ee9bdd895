// postgres(connection) and pglite(database): stores on PostgreSQL. Their driver is loaded when a store is opened: a bundle that opens
// none on PostgreSQL loads none.

import { OptionError } from "../../process/errors.js";
import type { StoreSource } from "../store.js";
import { sharedSource } from "../store-source.js";
import type { PgliteDatabase } from "./pglite.js";
import { checkOptions, type PostgresConnection, type PostgresOptions } from "./settings.js";

/**
 * A store on a PostgreSQL server, 13 or newer, for any number of processes. Needs the package `pg`.
 *
 * Its tables are in a schema of their own. The server's clock counts, and a claim is fenced in the transaction that writes. The store
 * connects again for ever when the server is away; operations wait for `unreachableMs`. A commit whose answer was lost is looked for,
 * so that nothing is written twice or reported wrongly.
 *
 * Connect to the server itself, or to a pooler in session mode: LISTEN and the locks of claims need a session of their own. Without
 * one the store warns, and works by looking again at intervals.
 *
 * @param connection - a connection string, or the options of a client of `pg`
 * @throws OptionError for an option that is not allowed
 * @example
 * const source = postgres("postgres://shop@db.internal/shop", { schema: "flows" });
 */
export function postgres(
  connection: string | PostgresConnection,
  options: PostgresOptions = {},
): StoreSource {
  const settings = checkOptions(options);
  const client = clientConfig(connection);
  const label = `postgres ${placeOf(client)}`;
  return sharedSource({
    label,
    unreachableMs: settings.unreachableMs,
    limits: { claimTtlMs: settings.leaseMs },
    connect: async (host) => (await import("./connect.js")).toServer(host, label, client, settings),
  });
}

/**
 * A store on a PGlite database: PostgreSQL within this process, for tests and small programs. Transactions of the user hold its one
 * connection for as long as they take. The database is the caller's: close it after the store.
 *
 * @param database - a `PGlite` of `@electric-sql/pglite`
 * @throws OptionError for an option that is not allowed
 * @example
 * const source = pglite(new PGlite("./orders-data"));
 */
export function pglite(database: PgliteDatabase, options: PostgresOptions = {}): StoreSource {
  const settings = checkOptions(options);
  if (typeof (database as PgliteDatabase | undefined)?.transaction !== "function")
    throw new OptionError("database", database, "a PGlite of @electric-sql/pglite");
  const label = "pglite";
  return sharedSource({
    label,
    limits: { claimTtlMs: settings.leaseMs },
    connect: async (host) => (await import("./connect.js")).toPglite(host, label, database, settings),
  });
}

function clientConfig(connection: unknown): PostgresConnection {
  if (typeof connection === "string" && connection !== "") return { connectionString: connection };
  if (typeof connection === "object" && connection !== null && !Array.isArray(connection))
    return connection as PostgresConnection;
  throw new OptionError("connection", typeof connection, "a connection string or options of a client of pg");
}

/** Where the server is, for people: without user and password. */
function placeOf({ connectionString, host, port, database }: PostgresConnection): string {
  if (connectionString === undefined)
    return `${host ?? "localhost"}${port === undefined ? "" : `:${port}`}/${database ?? ""}`;
  return (
    connectionString
      .replace(/^[a-z]+:\/\//i, "")
      .replace(/^[^/?]*@/, "")
      .replace(/[?#].*$/s, "") || "server"
  );
}
