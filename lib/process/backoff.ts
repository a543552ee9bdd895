// Exponential backoff with jitter, for everything here that tries again: delays in milliseconds, pure.

import { OptionError } from "./errors.js";
import { delay } from "./options.js";

/** How long to wait before each further attempt. */
export interface Backoff {
  /** Wait before the first repetition, in milliseconds, 1 or more. */
  readonly min: number;
  /** No wait is longer than this, jitter apart. */
  readonly max: number;
  /** Each wait is this many times the one before. Default 2. */
  readonly factor?: number;
  /** Share of the wait, 0 to 1, by which chance may shorten or lengthen it, so that many do not come at once. Default 0.1. */
  readonly jitter?: number;
  /** After this many calm milliseconds the next wait is `min` again. Default: `max`. */
  readonly resetAfter?: number;
}

/**
 * The wait before attempt number `attempt` (1 for the first repetition).
 *
 * @param roll - a number in [0, 1) that decides the jitter
 */
export function backoffMs(backoff: Backoff, attempt: number, roll: number): number {
  const { min, max, factor = 2, jitter = 0.1 } = backoff;
  const plain = Math.min(max, min * factor ** Math.min(attempt - 1, 64));
  return plain * (1 + jitter * (2 * roll - 1));
}

/** Whether the last attempt held long enough for the waits to start anew. */
export function isCalm(backoff: Backoff, ranForMs: number): boolean {
  return ranForMs >= (backoff.resetAfter ?? backoff.max);
}

/** @throws OptionError */
export function checkBackoff(path: string, backoff: Backoff): Backoff {
  if (typeof backoff !== "object" || backoff === null)
    throw new OptionError(path, backoff, "a backoff { min, max, … } in milliseconds");
  // Zero times any factor is zero: every wait would be none.
  delay(`${path}.min`, backoff.min, 1);
  delay(`${path}.max`, backoff.max, backoff.min);
  if (backoff.factor !== undefined && !(backoff.factor >= 1 && Number.isFinite(backoff.factor))) {
    throw new OptionError(`${path}.factor`, backoff.factor, "a number, 1 or more");
  }
  if (backoff.jitter !== undefined && !(backoff.jitter >= 0 && backoff.jitter <= 1)) {
    throw new OptionError(`${path}.jitter`, backoff.jitter, "a number from 0 to 1");
  }
  if (backoff.resetAfter !== undefined) delay(`${path}.resetAfter`, backoff.resetAfter);
  return backoff;
}
