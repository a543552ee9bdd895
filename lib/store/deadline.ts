// The time limit of a transaction with SQL of a user, over all its attempts.

import { TransactionEndedError, TransactionTimeoutError } from "./sql-errors.js";
import type { StoreContext } from "./store.js";

export class Deadline {
  /** The whole time. */
  readonly ms: number;
  /** Why nothing more may be done. */
  why: TransactionEndedError | undefined;
  /** Cancels the timer: the limit does not apply any more. */
  cancel!: () => void;
  readonly #expired: Promise<never>;

  constructor(after: StoreContext["after"], ms: number, signal: AbortSignal | undefined) {
    this.ms = ms;
    this.#expired = new Promise((_resolve, reject) => {
      const end = (why: TransactionEndedError): void => {
        this.why ??= why;
        reject(this.why);
      };
      const cancelTimer = after(ms, () => end(new TransactionTimeoutError(ms)));
      const abort = (): void => end(new TransactionEndedError("it was aborted", signal?.reason));
      if (signal?.aborted === true) abort();
      else signal?.addEventListener("abort", abort);
      this.cancel = () => {
        cancelTimer();
        signal?.removeEventListener("abort", abort);
      };
    });
    // The time may end while nothing waits for it: then its rejection must not count as unhandled.
    this.#expired.catch(() => {});
  }

  /** Waits for the body until the time is over, and ignores the body after that. @throws TransactionEndedError */
  within<T>(run: () => Promise<T>): Promise<T> {
    if (this.why !== undefined) return this.#expired;
    const running = run();
    running.catch(() => {});
    return Promise.race([running, this.#expired]);
  }
}
