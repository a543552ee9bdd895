/**
 * signalbox/store: durable tables behind flows and pipelines, and for code of your own.
 *
 *     table, schema    the stored data: typed columns, keys, indexes, versions
 *     write-set        the changes of one writer in one atomic step, and the conditions for them
 *     claim            the right to write: a name with a fencing token
 *     store            the interface of memory, SQLite and PostgreSQL
 *     group-commit     many writers share a transaction and a sync; the plan decides which sets of a group are applied
 *     transaction      reads and writes by a function, that becomes a write set
 *     memory           a store in memory, for tests
 *     grouped-store    the common part of all stores; a kind of store is a driver
 *     sqlite           a store in one file, worked on in a thread of its own
 *     postgres/        stores on PostgreSQL: a server, or PGlite within the process
 */

export type { Claim, ClaimInfo, ClaimOptions, Fence } from "./claim.js";
export {
  ConflictError,
  FencedError,
  StoreClosedError,
  StoreError,
  StoreOverloadedError,
  StoreUnsupportedError,
  StoreVersionError,
  ValueError,
} from "./errors.js";
export { STORE_DEFAULTS, type StoreLimits } from "./limits.js";
export { type MemoryOptions, type MemoryPort, type MemorySource, memory } from "./memory/index.js";
export { openStore } from "./open-store.js";
export {
  type Isolation,
  type PgliteDatabase,
  type PgliteQueryOptions,
  type PgliteResults,
  type PgliteTransaction,
  POSTGRES_DEFAULTS,
  type PostgresConnection,
  type PostgresLimits,
  type PostgresOptions,
  type PostgresSettings,
  pglite,
  postgres,
  ServerError,
  StoreUnreachableError,
} from "./postgres/index.js";
export type { Durability, Migration, Schema } from "./schema.js";
export type { SqlResult, SqlRow, SqlTransaction, SqlTransactionOptions, SqlValue } from "./sql.js";
export {
  SqlError,
  TransactionEndedError,
  TransactionOvertakenError,
  TransactionTimeoutError,
} from "./sql-errors.js";
export {
  StoreDamagedError,
  StoreFileError,
  StoreFullError,
  StoreIncompleteError,
  StoreLockedError,
} from "./sqlite/errors.js";
export {
  SQLITE_DEFAULTS,
  type SqliteLimits,
  type SqliteOptions,
} from "./sqlite/settings.js";
export { sqlite } from "./sqlite/sqlite.js";
export type { Count, Scan, Store, StoreContext, StoreSource, StoreWarning, Take, Watcher } from "./store.js";
export {
  type AnyRow,
  type Columns,
  type ColumnType,
  type ColumnValue,
  defineTable,
  type Row,
  type RowOf,
  type Table,
  type TableOptions,
  type Value,
} from "./table.js";
export {
  type NewRow,
  type StoreTransaction,
  type TransactionScan,
  type TransactOptions,
  transact,
} from "./transaction.js";
export type {
  Committed,
  Expectation,
  Key,
  RangeExpectation,
  RowExpectation,
  RowWrite,
  Write,
  WriteSet,
} from "./write-set.js";
