// How long the caller of an operation on an execution waits for its answer.

import { delay, withMethod } from "../../process/options.js";

/** How long the caller of an operation waits for its answer. */
export interface OperationWaitOptions {
  /**
   * How many milliseconds to wait for the answer at most, 0 or more, or `Infinity`. When they are over, the operation rejects with an
   * ExecutionOutcomeUnknownError: it may take place all the same. If a host had not begun with it, it is withdrawn, and rejects with a
   * CallTimeoutError. Default `Infinity`: the operation waits as long as the store does for its server, by `unreachableMs`.
   */
  readonly timeoutMs?: number;
  /** Ends the wait early: the operation rejects with the reason of the signal, and may take place all the same. */
  readonly signal?: AbortSignal;
}

/** The names of these options. */
export const WAIT: readonly (keyof OperationWaitOptions)[] = ["timeoutMs", "signal"];

/** A wait, checked. */
export interface OperationWait {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** @throws OptionError, and the reason of `signal` when it has aborted before */
export function checkWait({
  timeoutMs = Number.POSITIVE_INFINITY,
  signal,
}: OperationWaitOptions): OperationWait {
  const wait = { timeoutMs: delay("timeoutMs", timeoutMs, 0, true) };
  if (signal === undefined) return wait;
  withMethod("signal", signal, "throwIfAborted", "an AbortSignal").throwIfAborted();
  return { ...wait, signal };
}
