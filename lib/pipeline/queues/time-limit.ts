// How long one attempt may take. A handler that takes longer has failed. It is waited for a while, and keeps its place so long.

import type { BodyContext } from "../../process/body-context.js";
import { shutdown } from "../../process/reason.js";
import { QueueTimeoutError } from "../messages/errors.js";
import type { SubscriberPolicy } from "./limits.js";

export class TimeLimit {
  readonly #ctx: BodyContext<never>;
  /** Made when the handler asks for its signal: most do not, and signals cost more than the rest of an attempt. */
  #controller: AbortController | undefined;
  #signal: AbortSignal | undefined;
  #overdue: QueueTimeoutError | undefined;

  /** @param ctx - of the process of the attempt */
  constructor(ctx: BodyContext<never>, queue: string, { timeoutMs, overrunMs }: SubscriberPolicy) {
    this.#ctx = ctx;
    if (timeoutMs === Number.POSITIVE_INFINITY) return;
    ctx.runAfter(timeoutMs, () => {
      const error = new QueueTimeoutError(queue, timeoutMs);
      this.#overdue = error;
      this.#controller?.abort(error);
      if (overrunMs < Number.POSITIVE_INFINITY) ctx.runAfter(overrunMs, () => ctx.exit(shutdown(error)));
    });
  }

  /** The attempt has taken too long. */
  get overdue(): Error | undefined {
    return this.#overdue;
  }

  /** Aborts when the attempt is over. */
  get signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal;
    this.#controller = new AbortController();
    if (this.#overdue !== undefined) this.#controller.abort(this.#overdue);
    this.#signal = AbortSignal.any([this.#ctx.signal, this.#controller.signal]);
    return this.#signal;
  }
}
