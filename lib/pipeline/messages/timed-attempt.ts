// The time of one attempt at a message. An attempt that takes longer has failed: its signal aborts, and its code is waited for a while.

import { type Abortable, unwatchAbort, watchAbort } from "../../process/abort.js";

export class TimedAttempt implements Abortable {
  /** The attempt takes too long, and has failed by that: the result of its code does not count. */
  overdue: Error | undefined;
  readonly #by: { readonly signal: AbortSignal };
  /** Made when code asks for the signal: most does not, and signals cost more than the rest of an attempt. */
  #controller: AbortController | undefined;

  /** @param by - the process that makes the attempt: its abort aborts the attempt */
  constructor(by: { readonly signal: AbortSignal }) {
    this.#by = by;
  }

  /** Aborts when the attempt takes too long, and when its process ends. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const { signal } = this.#by;
      if (this.overdue !== undefined || signal.aborted) this.#controller.abort(this.overdue ?? signal.reason);
      else watchAbort(signal, this);
    }
    return this.#controller.signal;
  }

  /** The attempt has taken too long. */
  tooLong(error: Error): void {
    this.overdue = error;
    this.#controller?.abort(error);
  }

  /** Called by the signal of its process. */
  aborted(reason: unknown): void {
    this.#controller?.abort(reason);
  }

  /** The attempt is over, and its process goes on: it no longer watches the signal of that. */
  unwatch(): void {
    if (this.#controller !== undefined) unwatchAbort(this.#by.signal, this);
  }
}
