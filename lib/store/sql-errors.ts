// Errors of SQL that users run on a store.

import { StoreError } from "./errors.js";

/**
 * The database refuses a statement of the user, or the store does: a syntax error, a constraint, a statement that would end the
 * transaction, a table of the library. The transaction goes on without the statement.
 *
 * @remedy Correct the statement; the message has what the database says.
 */
export class SqlError extends StoreError {
  static override readonly name: string = "SqlError";
  override readonly code = "ERR_STORE_SQL";
  /** The statement. */
  readonly sql: string;
  /** The code of the database: the extended result code of SQLite, the SQLSTATE of PostgreSQL. Undefined: the store refused. */
  readonly result: string | number | undefined;
  constructor(sql: string, why: string, result?: string | number, cause?: unknown) {
    super(`${why}; the statement was: ${sql.length > 200 ? `${sql.slice(0, 200)}…` : sql}`, { cause });
    this.sql = sql;
    this.result = result;
  }
}

/**
 * A transaction of the user was aborted by its signal, or ran a statement after its end. It was rolled back.
 *
 * @remedy Await every statement before the body returns.
 */
export class TransactionEndedError extends StoreError {
  static override readonly name: string = "TransactionEndedError";
  override readonly code: string = "ERR_STORE_TRANSACTION";
  constructor(why: string, cause?: unknown) {
    super(`the transaction was rolled back: ${why}`, { cause });
  }
}

/**
 * A transaction of the user took longer than it may, all attempts together. It was rolled back.
 *
 * @remedy Make the transaction shorter, or raise `timeoutMs`.
 */
export class TransactionTimeoutError extends TransactionEndedError {
  static override readonly name: string = "TransactionTimeoutError";
  override readonly code = "ERR_STORE_TRANSACTION_TIMEOUT";
  constructor(ms: number) {
    super(`it took longer than ${ms} ms`);
  }
}

/**
 * Other writers changed what the body of a transaction had read, in each of its attempts. It was rolled back.
 *
 * @remedy Make the transaction shorter, read less in it, or raise `attempts`. A statement that answers differently each time, such as
 * one with `random()` or the time of day, is always overtaken when others write in between: pass such values as parameters.
 */
export class TransactionOvertakenError extends TransactionEndedError {
  static override readonly name: string = "TransactionOvertakenError";
  override readonly code = "ERR_STORE_OVERTAKEN";
  constructor(attempts: number) {
    super(`other writers changed what it had read, in each of ${attempts} attempts`);
  }
}
