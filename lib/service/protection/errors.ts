// The errors of protection: each says when to try again, if that is known.

import { SignalboxError } from "../../process/errors.js";

/** `instanceof` of any thrown value: a Proxy may throw at it. */
export function isA<T extends Error>(error: unknown, Class: abstract new (...args: never) => T): error is T {
  try {
    return error instanceof Class;
  } catch {
    return false;
  }
}

/**
 * The circuit breaker is open, or half-open with all its probes under way: the function was not called.
 *
 * @remedy Try again after `retryAfterMs`, answer without the service behind the breaker, or pass the error on. A retry policy
 * around the breaker waits by itself.
 */
export class CircuitOpenError extends SignalboxError {
  static override readonly name: string = "CircuitOpenError";
  readonly code = "ERR_CIRCUIT_OPEN";
  /** The label of the breaker. */
  readonly breaker: string;
  /** The state of the breaker: `open`, or `half-open` with all probes under way. */
  readonly state: "open" | "half-open";
  /** After this many milliseconds the breaker admits a call again, 0 or more. */
  readonly retryAfterMs: number;
  constructor(breaker: string, state: "open" | "half-open", retryAfterMs: number) {
    super(
      state === "open"
        ? `${breaker} is open; it admits a call again in ${Math.ceil(retryAfterMs)} ms`
        : `${breaker} is half-open and its probes are under way; try again in ${Math.ceil(retryAfterMs)} ms at the latest`,
    );
    this.breaker = breaker;
    this.state = state;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Why a rate limiter refused: too many wait, or the wait was too long. */
export type RateLimitReason = "waiting" | "timeout";

const REASONS: { readonly [reason in RateLimitReason]: string } = {
  waiting: "as many callers wait already as `maxWaiting` allows",
  timeout: "the wait for a permit was too long",
};

/**
 * A rate limiter gave no permit: the function was not called.
 *
 * @remedy Try again after `retryAfterMs`, pass the error on (HTTP 429), or raise `maxWaiting` or `timeoutMs`.
 */
export class RateLimitError extends SignalboxError {
  static override readonly name: string = "RateLimitError";
  readonly code = "ERR_RATE_LIMIT";
  /** The label of the limiter. */
  readonly limiter: string;
  /** Why there was no permit. */
  readonly reason: RateLimitReason;
  /** After this many milliseconds the permits of those that wait now have been given, 0 or more. */
  readonly retryAfterMs: number;
  constructor(limiter: string, reason: RateLimitReason, retryAfterMs: number) {
    super(`${limiter} gave no permit: ${REASONS[reason]}; try again in ${Math.ceil(retryAfterMs)} ms`);
    this.limiter = limiter;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Why a bulkhead refused: too many wait, or the wait was too long. */
export type BulkheadRefusal = "waiting" | "timeout";

/**
 * A bulkhead had no place for a call: the function was not called.
 *
 * @remedy Answer with HTTP 503 or a fallback, or raise `concurrency`, `maxWaiting` or `timeoutMs`.
 */
export class BulkheadFullError extends SignalboxError {
  static override readonly name: string = "BulkheadFullError";
  readonly code = "ERR_BULKHEAD_FULL";
  /** The label of the bulkhead. */
  readonly bulkhead: string;
  /** Why there was no place. */
  readonly reason: BulkheadRefusal;
  constructor(
    bulkhead: string,
    reason: BulkheadRefusal,
    limits: { readonly concurrency: number; readonly maxWaiting: number },
  ) {
    const why = reason === "waiting" ? `${limits.maxWaiting} calls wait already` : "its wait was too long";
    super(`${bulkhead} had no place for a call: ${limits.concurrency} run at once, and ${why}`);
    this.bulkhead = bulkhead;
    this.reason = reason;
  }
}

/**
 * A guarded function did not end in time. Its `signal` was aborted, and its later result is ignored.
 *
 * @remedy Pass `signal` of the attempt on to `fetch`, to the database driver and to calls, or raise `timeoutMs`.
 */
export class AttemptTimeoutError extends SignalboxError {
  static override readonly name: string = "AttemptTimeoutError";
  readonly code = "ERR_ATTEMPT_TIMEOUT";
  /** The limit of one attempt, in milliseconds. */
  readonly timeoutMs: number;
  constructor(timeoutMs: number) {
    super(`the guarded function did not end within ${timeoutMs} ms; its signal is aborted`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * All attempts together took longer than the deadline of the retry policy. `cause` is the error of the attempt before, if there
 * was one.
 *
 * @remedy Raise `deadlineMs`, or give each attempt less time with `timeoutMs`.
 */
export class RetryDeadlineError extends SignalboxError {
  static override readonly name: string = "RetryDeadlineError";
  readonly code = "ERR_RETRY_DEADLINE";
  /** The deadline over all attempts, in milliseconds. */
  readonly deadlineMs: number;
  /** How many attempts were begun, 1 or more. */
  readonly attempts: number;
  constructor(deadlineMs: number, attempts: number, cause: unknown) {
    super(
      `no attempt succeeded within ${deadlineMs} ms; attempts: ${attempts}`,
      cause === undefined ? undefined : { cause },
    );
    this.deadlineMs = deadlineMs;
    this.attempts = attempts;
  }
}
