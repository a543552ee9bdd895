// The attempts of a transaction with SQL of a user: how many, and how long they may take together.

import { count, delay } from "../process/options.js";
import { Deadline } from "./deadline.js";
import type { SqlTransactionOptions } from "./sql.js";
import { TransactionOvertakenError } from "./sql-errors.js";
import type { StoreContext } from "./store.js";

/** The limits of a transaction that sets none of its own. */
export interface AttemptLimits {
  /** How many milliseconds all attempts together may take. */
  readonly transactionMs: number;
  /** How often the body is run. */
  readonly transactionAttempts: number;
}

/** One attempt. Resolves with undefined when other writers were faster. */
type Attempt<T> = (deadline: Deadline, number: number) => Promise<{ readonly result: T } | undefined>;

/**
 * Attempts until one has a result.
 *
 * @throws OptionError, TransactionOvertakenError, TransactionEndedError, and what an attempt throws
 */
export async function attempted<T>(
  after: StoreContext["after"],
  limits: AttemptLimits,
  options: SqlTransactionOptions<T>,
  attempt: Attempt<T>,
): Promise<T> {
  const attempts = count("attempts", options.attempts ?? limits.transactionAttempts, 1);
  const ms = delay("timeoutMs", options.timeoutMs ?? limits.transactionMs, 1);
  const deadline = new Deadline(after, ms, options.signal);
  try {
    for (let number = 1; number <= attempts; number++) {
      const done = await attempt(deadline, number);
      if (done !== undefined) return done.result;
    }
    throw deadline.why ?? new TransactionOvertakenError(attempts);
  } finally {
    deadline.cancel();
  }
}
