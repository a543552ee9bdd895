// SQL of the user on the store's own database, in a transaction that commits together with a write set.

import type { Fence } from "./claim.js";
import type { WriteSet } from "./write-set.js";

/** A value of a parameter or a result. SQLite has no booleans: it takes them as 0 and 1. */
export type SqlValue = string | number | bigint | boolean | Uint8Array | null;
/** A row of a result, by column. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** The result of a statement. */
export interface SqlResult<R = SqlRow> {
  /** The rows that it gave. */
  readonly rows: readonly R[];
  /** How many rows were changed. */
  readonly changes: number;
}

/** A transaction of the user. */
export interface SqlTransaction {
  /**
   * Runs one statement. Parameters are `?` on SQLite and `$1` on PostgreSQL.
   *
   * @throws SqlError when the database refuses the statement
   */
  execute<R = SqlRow>(sql: string, parameters?: readonly SqlValue[]): Promise<SqlResult<R>>;
}

/** What {@link Store.transaction} is given besides the body. */
export interface SqlTransactionOptions<T = unknown> {
  /** Called when the body has returned: the write set that commits with the transaction. */
  attach?(result: T): WriteSet | Promise<WriteSet>;
  /** The claim under which the transaction is made. */
  readonly claim?: Fence;
  /**
   * How many milliseconds the body may take, all attempts together. Counts from the call on. Default 5,000 from its first turn on: on
   * PostgreSQL a transaction of which many run at once waits for its turn.
   */
  readonly timeoutMs?: number;
  /** How often the body is run when its reads were overtaken by other writers. Default 10. */
  readonly attempts?: number;
  /** Ends the transaction early; it is rolled back. */
  readonly signal?: AbortSignal;
}
