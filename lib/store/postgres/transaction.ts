// SQL of the user, in a transaction on a connection of its own. Neither its slowness nor its rollback touches the group commits of
// others.

import { backoffMs } from "../../process/backoff.js";
import { attempted } from "../attempts.js";
import type { Deadline } from "../deadline.js";
import type { DriverHost, HeldClaim } from "../driver.js";
import { classOf, classOfSqlState, told, toldIn } from "../error-classes.js";
import { FencedError } from "../errors.js";
import type { Line, Ticket } from "../line.js";
import type { CommitOutcome } from "../plan.js";
import type { SqlResult, SqlRow, SqlTransaction, SqlTransactionOptions, SqlValue } from "../sql.js";
import {
  SqlError,
  TransactionEndedError,
  TransactionOvertakenError,
  TransactionTimeoutError,
} from "../sql-errors.js";
import type { WriteSet } from "../write-set.js";
import type { Answer, Command, Connection, Received } from "./connection.js";
import { ConnectionLostError, isRepeatable, ServerError } from "./connection.js";
import { StoreUnreachableError } from "./errors.js";
import { carryOut, type First, type Writing } from "./group.js";
import type { Outcomes } from "./outcome.js";
import type { Pool } from "./pool.js";
import { rolledBack } from "./rollback.js";
import type { PostgresSettings } from "./settings.js";
import { checkStatement } from "./sql-guard.js";

/** The tools to run transactions of the user. */
export interface Transactions extends Omit<Writing, "connection"> {
  readonly host: DriverHost;
  readonly outcomes: Outcomes;
  readonly settings: PostgresSettings;
  readonly pool: Pool;
  /** A pool on which statements of the other are cancelled, and lost commits looked for. */
  readonly others: Pool;
  /** The line in which transactions wait for their turn. */
  readonly line: Line;
  /** Takes the locks for these sets, leaves the row of the transaction, and checks the versions of schemas. */
  mark(id: string, sets: readonly WriteSet[]): First;
  /** Transactions stand in each other's way. This was the last statement of one. */
  contended(statement: string): void;
  /** These topics were committed. */
  committed(topics: readonly string[]): void;
}

/** A transaction that was overtaken so often causes a warning, once for each statement. */
const WARN_AFTER = 3;
/** Waits between the attempts of a transaction, each from nothing to twice as long. */
const AGAIN = { minMs: 2, maxMs: 500, jitter: 1 };

const NO_WRITES: WriteSet = { writes: [] };

/** Runs a transaction until it is committed, or fails. */
export async function runTransaction<T>(
  on: Transactions,
  body: (tx: SqlTransaction) => Promise<T>,
  options: SqlTransactionOptions<T>,
): Promise<T> {
  const { line } = on;
  // A limit of the caller counts from the call on. The store's own limit counts from the first turn on, so the wait for that turn
  // makes no transaction time out.
  const first = options.timeoutMs === undefined ? line.join(0) : undefined;
  try {
    if (first !== undefined) await unaborted(first.granted, options.signal);
    return await attempts(on, body, options, first);
  } finally {
    first?.leave("failed");
  }
}

/** @param first - the turn of the first attempt, if it has it */
function attempts<T>(
  on: Transactions,
  body: (tx: SqlTransaction) => Promise<T>,
  options: SqlTransactionOptions<T>,
  first: Ticket | undefined,
): Promise<T> {
  const { environment, after } = on.host;
  let overtaken = 0;
  return attempted(after, on.settings, options, async (deadline, number) => {
    if (number > 1) {
      // Those that overtake each other would go on doing so, if all of them began again at once.
      const ms = backoffMs(AGAIN, number - 1, environment.random());
      await deadline.within(() => new Promise<void>((go) => void after(ms, go)));
    }
    const turn = (number === 1 && first) || on.line.join(overtaken);
    const attempt = new Attempt(on, options, deadline);
    try {
      await deadline.within(() => turn.granted);
      const done = await attempt.run(body);
      if (done === undefined && attempt.isOvertaken) {
        turn.leave("overtaken");
        if (++overtaken === WARN_AFTER) on.contended(attempt.statement);
      }
      turn.leave(done === undefined ? "failed" : "committed");
      return done;
    } catch (error) {
      const isLate = error instanceof TransactionTimeoutError;
      if (isLate) on.contended(attempt.statement);
      turn.leave(
        isLate ? "timed out" : error instanceof StoreUnreachableError ? "unreachable" : "failed",
        error,
      );
      throw error;
    }
  });
}

/** Waits for a promise no longer than the signal allows. @throws TransactionEndedError */
async function unaborted(waiting: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return waiting;
  let end = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    end = () => reject(new TransactionEndedError("it was aborted", signal.reason));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
  try {
    await Promise.race([waiting, aborted]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** One attempt. */
class Attempt<T> implements SqlTransaction {
  readonly #on: Transactions;
  readonly #options: SqlTransactionOptions<T>;
  readonly #deadline: Deadline;
  #connection: Connection | undefined;
  /** The last statement that it ran. */
  statement = "";
  /** Another writer was faster, or held a lock. */
  isOvertaken = false;
  /** Why it takes no more statements. */
  #over: Error | undefined;
  /** Another writer was faster, or the connection is gone: the body is run again. */
  #again: unknown;
  #pending = 0;
  /** Statements run one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(on: Transactions, options: SqlTransactionOptions<T>, deadline: Deadline) {
    this.#on = on;
    this.#options = options;
    this.#deadline = deadline;
  }

  /** Undefined: other writers were faster. */
  async run(body: (tx: SqlTransaction) => Promise<T>): Promise<{ readonly result: T } | undefined> {
    const { pool, settings } = this.#on;
    const connection = await pool.acquire(Math.min(this.#deadline.ms, settings.unreachableMs));
    try {
      return await connection.hold(async () => {
        this.#connection = connection;
        try {
          await connection.send([{ text: `begin isolation level ${this.#on.settings.isolation}` }]);
          return { result: await this.#body(connection, body) };
        } catch (error) {
          this.#over ??=
            error instanceof TransactionEndedError
              ? error
              : new TransactionEndedError("it has failed", error);
          await this.#abandon(connection);
          if (this.#deadline.why !== undefined) throw this.#deadline.why;
          if (isOfUser(error, this.#on.catalog.namespace)) throw error;
          // If a lock was not free in time, the body gets the error, and may do something else. A body that fails with it runs again.
          this.isOvertaken =
            isRepeatable(this.#again ?? error) || classOf(toldIn(this, error)) === "contention";
          if (this.isOvertaken || this.#again !== undefined || error instanceof ConnectionLostError)
            return undefined;
          throw error;
        }
      });
    } catch (error) {
      if (error instanceof ConnectionLostError && this.#deadline.why === undefined) return undefined;
      throw error;
    } finally {
      pool.release(connection);
    }
  }

  execute<R = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<SqlResult<R>> {
    const running = this.#turn.then(() => this.#execute(sql, parameters));
    this.#turn = running.catch(() => {});
    return running as Promise<SqlResult<R>>;
  }

  async #execute(sql: string, parameters: readonly SqlValue[]): Promise<SqlResult> {
    const over = this.#over ?? this.#deadline.why;
    if (over !== undefined) throw over;
    const values = checkStatement(this.#on.catalog.namespace, sql, parameters);
    const connection = this.#connection as Connection;
    this.statement = sql;
    this.#pending++;
    try {
      // A statement that fails leaves the transaction as it was.
      const answers = await connection.send([SAVEPOINT, { text: sql, values }, RELEASE]);
      return resultOf(answers[1] as Answer);
    } catch (error) {
      if (this.#deadline.why !== undefined) throw this.#deadline.why;
      if (error instanceof ServerError && !isOver(error)) {
        await connection.send([BACK]);
        const seen = new SqlError(sql, error.message, error.sqlState, error.cause);
        told(this, seen);
        throw seen;
      }
      this.#again ??= error;
      this.#over ??= new TransactionOvertakenError(1);
      throw this.#over;
    } finally {
      this.#pending--;
    }
  }

  async #body(connection: Connection, body: (tx: SqlTransaction) => Promise<T>): Promise<T> {
    const { attach, claim } = this.#options;
    const [result, set] = await this.#deadline.within(async () => {
      const result = await body(this);
      this.#end();
      return [result, (await attach?.(result)) ?? NO_WRITES] as const;
    });
    await this.#commit(connection, claim === undefined || set.claim !== undefined ? set : { ...set, claim });
    return result;
  }

  /** From now on statements are refused. @throws what keeps the transaction from being committed */
  #end(): void {
    if (this.#over !== undefined) throw this.#over;
    const pending = this.#pending;
    this.#over = new TransactionEndedError(
      pending === 0
        ? "a statement came after its end"
        : `its body has returned while ${pending} of its statements were running: await each`,
    );
    if (pending > 0) throw this.#over;
  }

  async #commit(connection: Connection, set: WriteSet): Promise<void> {
    const { outcomes, others } = this.#on;
    const id = outcomes.next();
    let outcome = await this.#write(connection, set, this.#on.mark(id, [set]));
    if (outcome instanceof FencedError && (await this.#isHeld(set))) {
      const check = ({ rows }: Answer): void => {
        if (rows.length === 0) throw outcome;
      };
      const { claim, ...unfenced } = set;
      const first = { commands: [this.#on.catalog.fence([claim as HeldClaim], true)], check };
      outcome = await this.#write(connection, unfenced, first);
    }
    if (outcome instanceof Error) throw outcome;
    if (!(await outcomes.commit(connection, id, others)))
      throw new ServerError("40001", "the commit was rolled back");
    if (set.notify !== undefined) this.#on.committed(set.notify);
  }

  async #write(connection: Connection, set: WriteSet, first: First): Promise<CommitOutcome | undefined> {
    // Only a hopeful one is refused as a whole.
    return (
      (await carryOut({ ...this.#on, connection }, [set], first, false)) as readonly CommitOutcome[]
    )[0];
  }

  /**
   * Whether a claim is held at the moment. The transaction itself sees the claim as it was when the transaction began, without later
   * renewals. If there is only one connection, no renewal can have happened meanwhile.
   */
  async #isHeld({ claim }: WriteSet): Promise<boolean> {
    const { catalog, others, pool } = this.#on;
    if (others === pool) return false;
    const [held] = await others.use((other) => other.send([catalog.fence([claim as HeldClaim])]));
    return held?.rows.length === 1;
  }

  /** Cancels what runs, and rolls back. */
  async #abandon(connection: Connection): Promise<void> {
    const { others, pool } = this.#on;
    if (this.#pending > 0 && others !== pool && connection.isUsable)
      await others
        .use((other) =>
          other.send([{ text: "select pg_cancel_backend($1)", values: [connection.processId] }]),
        )
        .catch(() => connection.destroy());
    await rolledBack(connection);
  }
}

const SAVEPOINT: Command = { text: "savepoint statement", prepared: true };
const RELEASE: Command = { text: "release savepoint statement", prepared: true };
const BACK: Command = { text: "rollback to savepoint statement", prepared: true };

/** A serialization failure or a deadlock ends the transaction. One whose lock was not free goes on without the statement. */
const isOver = ({ sqlState }: ServerError): boolean =>
  sqlState.startsWith("40") && classOfSqlState(sqlState) === "contention";

/** Whether a commit finds a constraint violated that was deferred: in a table of the user, that is no collision of writers. */
function isOfUser(error: unknown, namespace: string): boolean {
  if (!(error instanceof ServerError) || classOfSqlState(error.sqlState) !== "constraint") return false;
  const { schema } = (error.cause ?? {}) as { schema?: unknown };
  return typeof schema === "string" && schema !== namespace;
}

/** Commands that change rows. */
const CHANGES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

function resultOf({ names, rows, count: changes, done }: Answer): SqlResult {
  return {
    rows: rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] as Received]))),
    changes: CHANGES.has(done) ? changes : 0,
  };
}
