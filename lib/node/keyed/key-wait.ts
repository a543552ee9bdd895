// The time that one request for a key has: for finding the process, for its answer, and for the pauses between attempts.

import { type Backoff, backoffMs } from "../../process/backoff.js";
import type { Kernel } from "../../process/kernel.js";
import { orAborted } from "../../process/or-aborted.js";
import { showThrown } from "../../process/show.js";
import { KeyUnavailableError } from "./errors.js";

/** How long a request waits before it looks for its key again. */
const AGAIN: Backoff = { minMs: 10, maxMs: 250 };

export class KeyWait {
  readonly #kernel: Kernel;
  readonly #until: number;
  readonly #controller = new AbortController();
  readonly #end: () => void;
  #attempt = 0;
  #why = "no node runs them";

  constructor(kernel: Kernel, kind: string, key: string, timeoutMs: number, signal: AbortSignal | undefined) {
    this.#kernel = kernel;
    this.#until = kernel.env.now() + timeoutMs;
    const over = (): void => this.#controller.abort(new KeyUnavailableError(kind, key, timeoutMs, this.#why));
    const timer =
      timeoutMs === Number.POSITIVE_INFINITY ? undefined : kernel.addTimer(timeoutMs, { fire: over });
    const aborted = (): void => this.#controller.abort(signal?.reason);
    if (signal?.aborted) aborted();
    signal?.addEventListener("abort", aborted, { once: true });
    this.#end = () => {
      if (timer !== undefined) kernel.cancelTimer(timer);
      signal?.removeEventListener("abort", aborted);
    };
  }

  /** Aborts with a KeyUnavailableError when the time is over, and with the reason of the caller's signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** How much time is left, in milliseconds. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#kernel.env.now());
  }

  /** An attempt has found no process that takes the message. Waits before the next one. @throws the reason of the signal */
  async pause(why: unknown): Promise<void> {
    this.#why = typeof why === "string" ? why : showThrown(why);
    const ms = backoffMs(AGAIN, ++this.#attempt, this.#kernel.env.random());
    let wake: (() => void) | undefined;
    const timer = this.#kernel.addTimer(ms, { fire: () => wake?.() });
    try {
      await orAborted(new Promise<void>((resolve) => (wake = resolve)), this.signal);
    } finally {
      this.#kernel.cancelTimer(timer);
    }
  }

  /** The request is over. */
  end(): void {
    this.#end();
  }
}
