/**
 * Stores on PostgreSQL.
 *
 *     postgres          postgres(connection) and pglite(database)
 *     settings          their options, with the defaults
 *     connect           their driver, loaded when a store is opened
 *     driver            what a store does, on a few connections
 *     connection        a session: pg (pg.ts) or PGlite (pglite.ts)
 *     pool              who gets a connection, and the next attempt to connect (pool-machine.ts)
 *     group             a group of write sets within a transaction
 *     table-sql         the statements of one table; arrays.ts has their parameters, types.ts reads their results
 *     catalog           the store's own tables; migrate.ts creates all
 *     outcome           was a commit committed whose answer was lost?
 *     session           LISTEN and the locks of claims (listen-machine.ts: do notifications arrive?)
 *     notifier          NOTIFY, after commits; messages.ts is what they say
 *     transaction       SQL of the user; sql-guard.ts refuses some
 */

export { ServerError } from "./connection.js";
export { StoreUnreachableError } from "./errors.js";
export type { PgliteDatabase, PgliteQueryOptions, PgliteResults, PgliteTransaction } from "./pglite.js";
export { pglite, postgres } from "./postgres.js";
export {
  type Isolation,
  POSTGRES_DEFAULTS,
  type PostgresConnection,
  type PostgresLimits,
  type PostgresOptions,
  type PostgresSettings,
} from "./settings.js";
