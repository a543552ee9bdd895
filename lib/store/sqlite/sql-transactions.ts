// Transactions of users: each is a body that asks for statements one after another. The engine decides which statements are in the
// database at the moment (sql-transaction-machine.ts); here are the body, its time limit and its attempts.

import { type AttemptLimits, attempted } from "../attempts.js";
import type { Deadline } from "../deadline.js";
import { told as toldOf } from "../error-classes.js";
import type { SqlResult, SqlRow, SqlTransaction, SqlTransactionOptions, SqlValue } from "../sql.js";
import { SqlError, TransactionEndedError, TransactionOvertakenError } from "../sql-errors.js";
import type { StoreContext } from "../store.js";
import type { WriteSet } from "../write-set.js";
import type { EnginePort } from "./engine-port.js";
import type { Executed, Query } from "./jobs.js";
import { checkStatement } from "./sql-guard.js";

/** The part of the store that transactions need. */
export interface SqlHost {
  readonly port: EnginePort;
  readonly limits: SqlLimits;
  after: StoreContext["after"];
  /** The error that users see for one of the engine. */
  wrap(error: unknown): Error;
  /** Commits a transaction with a write set. False: it was overtaken. @throws what refuses the set */
  commit(id: number, set: WriteSet): Promise<boolean>;
}

/** Bounds on transactions of users. */
export interface SqlLimits extends AttemptLimits {
  /** Most bytes of the statements and parameters of one transaction, estimated: they are kept until its end. */
  readonly transactionBytes: number;
}

/** A body that runs. */
class Running implements SqlTransaction {
  readonly id: number;
  readonly #host: SqlHost;
  readonly #attempt: number;
  /** Why it takes no more statements. */
  #over: Error | undefined;
  #overtaken = false;
  #pending = 0;
  #bytes = 0;

  constructor(host: SqlHost, id: number, attempt: number) {
    this.#host = host;
    this.id = id;
    this.#attempt = attempt;
  }

  get overtaken(): boolean {
    return this.#overtaken;
  }

  async execute<R = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<SqlResult<R>> {
    if (this.#over !== undefined) throw this.#over;
    const query: Query = { sql, parameters: checkStatement(sql, parameters) };
    this.#bytes += sizeOf(query);
    const { transactionBytes } = this.#host.limits;
    if (this.#bytes > transactionBytes)
      throw new SqlError(
        sql,
        `the statements and parameters of a transaction are ${transactionBytes} bytes at most`,
      );
    this.#pending++;
    try {
      const told = await this.#host.port.ask({ type: "execute", id: this.id, query });
      return this.#result(sql, told) as SqlResult<R>;
    } catch (error) {
      const seen = this.#host.wrap(error);
      // The database has ended the transaction. Even if the body catches the error, the transaction does nothing more.
      if (!(seen instanceof SqlError)) this.#over ??= seen;
      toldOf(this, seen);
      throw seen;
    } finally {
      this.#pending--;
    }
  }

  /** From now on statements are refused. @throws what keeps the transaction from being committed */
  end(): void {
    if (this.#over !== undefined) throw this.#over;
    const pending = this.#pending;
    this.stop(
      new TransactionEndedError(
        pending === 0
          ? "a statement came after its end"
          : `its body has returned while ${pending} of its statements were running: await each`,
      ),
    );
    if (pending > 0) throw this.#over;
  }

  stop(why: Error): void {
    this.#over ??= why;
  }

  #result(sql: string, told: Executed): SqlResult {
    switch (told.type) {
      case "answered":
        return { rows: told.rows as readonly SqlRow[], changes: told.changes };
      case "refused":
        throw new SqlError(sql, told.failure.message, told.failure.result);
      case "too many rows":
        throw new SqlError(sql, `a statement gives ${told.most} rows at most: add a limit`);
      case "too many statements":
        throw new SqlError(sql, `a transaction has ${told.most} statements at most`);
      case "overtaken":
        this.#overtaken = true;
        throw new TransactionOvertakenError(this.#attempt);
      default:
        return told satisfies never;
    }
  }
}

const NO_WRITES: WriteSet = { writes: [] };

export class SqlTransactions {
  readonly #host: SqlHost;
  #last = 0;

  constructor(host: SqlHost) {
    this.#host = host;
  }

  run<T>(body: (tx: SqlTransaction) => Promise<T>, options: SqlTransactionOptions<T>): Promise<T> {
    const { after, limits } = this.#host;
    return attempted(after, limits, options, (deadline, number) =>
      this.#attempt(body, options, deadline, number),
    );
  }

  /** Undefined: other writers were faster. */
  async #attempt<T>(
    body: (tx: SqlTransaction) => Promise<T>,
    { attach, claim }: SqlTransactionOptions<T>,
    deadline: Deadline,
    attempt: number,
  ): Promise<{ readonly result: T } | undefined> {
    const running = new Running(this.#host, ++this.#last, attempt);
    const { id } = running;
    try {
      const [result, set] = await deadline.within(async () => {
        const result = await body(running);
        running.end();
        return [result, (await attach?.(result)) ?? NO_WRITES] as const;
      });
      const fenced = claim === undefined || set.claim !== undefined ? set : { ...set, claim };
      if (await this.#host.commit(id, fenced)) return { result };
      return undefined;
    } catch (error) {
      running.stop(
        error instanceof TransactionEndedError ? error : new TransactionEndedError("it has failed", error),
      );
      void this.#host.port.ask({ type: "abandon", id }).catch(() => undefined);
      if (running.overtaken && deadline.why === undefined) return undefined;
      throw this.#host.wrap(error);
    }
  }
}

function sizeOf({ sql, parameters }: Query): number {
  let bytes = sql.length;
  for (const value of parameters)
    bytes += typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
  return bytes;
}
