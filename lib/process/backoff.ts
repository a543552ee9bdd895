// Exponential backoff with jitter, for everything here that tries again: delays in milliseconds, pure.

import { OptionError } from "./errors.js";
import { delay } from "./options.js";

/** How long to wait before each further attempt. */
export interface Backoff {
  /** Wait before the first repetition, in milliseconds, 1 or more. */
  readonly minMs: number;
  /** No wait is longer than this, jitter apart. */
  readonly maxMs: number;
  /** Each wait is this many times the one before. Default 2. */
  readonly factor?: number;
  /** Share of the wait, 0 to 1, by which chance may shorten or lengthen it, so that many do not come at once. Default 0.1. */
  readonly jitter?: number;
  /** After this many calm milliseconds the next wait is `minMs` again. Default: `maxMs`. */
  readonly resetAfterMs?: number;
}

/**
 * The wait before attempt number `attempt` (1 for the first repetition).
 *
 * @param roll - a number in [0, 1) that decides the jitter
 */
export function backoffMs(backoff: Backoff, attempt: number, roll: number): number {
  const { minMs, maxMs, factor = 2, jitter = 0.1 } = backoff;
  const plain = Math.min(maxMs, minMs * factor ** Math.min(attempt - 1, 64));
  return plain * (1 + jitter * (2 * roll - 1));
}

/** Whether the last attempt held long enough for the waits to start anew. */
export function isCalm(backoff: Backoff, ranForMs: number): boolean {
  return ranForMs >= (backoff.resetAfterMs ?? backoff.maxMs);
}

/** @throws OptionError */
export function checkBackoff(path: string, backoff: Backoff): Backoff {
  if (typeof backoff !== "object" || backoff === null)
    throw new OptionError(path, backoff, "a backoff { minMs, maxMs, … }");
  // Zero times any factor is zero: every wait would be none.
  delay(`${path}.minMs`, backoff.minMs, 1);
  delay(`${path}.maxMs`, backoff.maxMs, backoff.minMs);
  if (backoff.factor !== undefined && !(backoff.factor >= 1 && Number.isFinite(backoff.factor))) {
    throw new OptionError(`${path}.factor`, backoff.factor, "a number, 1 or more");
  }
  if (backoff.jitter !== undefined && !(backoff.jitter >= 0 && backoff.jitter <= 1)) {
    throw new OptionError(`${path}.jitter`, backoff.jitter, "a number from 0 to 1");
  }
  if (backoff.resetAfterMs !== undefined) delay(`${path}.resetAfterMs`, backoff.resetAfterMs);
  return backoff;
}
