// Exponential backoff with jitter, for everything in the library that retries. Pure; delays are in milliseconds.

import { OptionError } from "./errors.js";
import { only } from "./known-options.js";
import { delay } from "./options.js";

/** How long to wait before each further attempt. */
export interface Backoff {
  /** The wait before the first retry, in milliseconds, 1 or more. */
  readonly minMs: number;
  /** The longest wait, in milliseconds, before jitter. At least `minMs`. */
  readonly maxMs: number;
  /** Each wait is this many times as long as the one before, 1 or more. Default 2. */
  readonly factor?: number;
  /**
   * The share of a wait, 0 to 1, by which chance shortens or lengthens it, so that many retries do not coincide.
   * Default 0.1.
   */
  readonly jitter?: number;
  /** After this many milliseconds without a failure, the next wait is `minMs` again. Default: `maxMs`. */
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

/** Whether the last attempt ran long enough for the waits to start at `minMs` again. */
export function startsAnew(backoff: Backoff, ranForMs: number): boolean {
  return ranForMs >= (backoff.resetAfterMs ?? backoff.maxMs);
}

const BACKOFF = ["minMs", "maxMs", "factor", "jitter", "resetAfterMs"];

/** @throws OptionError */
export function checkBackoff(path: string, given: unknown): Backoff {
  if (typeof given !== "object" || given === null)
    throw new OptionError(path, given, "a backoff { minMs, maxMs, … }");
  only(path, given, BACKOFF);
  const { minMs, maxMs, factor, jitter, resetAfterMs } = given as Backoff;
  // Zero times any factor is zero, so that there would be no waits at all.
  delay(`${path}.minMs`, minMs, 1);
  delay(`${path}.maxMs`, maxMs, minMs);
  if (factor !== undefined && !(factor >= 1 && Number.isFinite(factor)))
    throw new OptionError(`${path}.factor`, factor, "a number, 1 or more");
  if (jitter !== undefined && !(jitter >= 0 && jitter <= 1))
    throw new OptionError(`${path}.jitter`, jitter, "a number from 0 to 1");
  if (resetAfterMs !== undefined) delay(`${path}.resetAfterMs`, resetAfterMs);
  return given as Backoff;
}
