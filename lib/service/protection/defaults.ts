// Every limit of protection, with its name and default, in one table.

import type { Backoff } from "../../process/backoff.js";

/** The defaults of circuit breakers, rate limiters, bulkheads and retry policies. Durations are milliseconds. */
export const PROTECTION_DEFAULTS: {
  /** Circuit breakers. */
  readonly breaker: {
    /** The calls of this many last milliseconds count. */
    readonly windowMs: number;
    /** With fewer calls in the window the breaker stays closed. */
    readonly minimumCalls: number;
    /** The breaker opens at this share of failures. */
    readonly failureRate: number;
    /** The breaker opens at this share of slow calls. */
    readonly slowRate: number;
    /** A call that takes this long is slow. */
    readonly slowMs: number;
    /** How long an attempt may take. */
    readonly timeoutMs: number;
    /** How long the breaker stays open: longer each time that its probes fail. */
    readonly backoff: Backoff;
    /** How many calls a half-open breaker admits, all of which must succeed. */
    readonly probes: number;
  };
  /** Rate limiters. */
  readonly limiter: {
    /** How many callers may wait, over all keys. */
    readonly maxWaiting: number;
    /** How many keys a limiter remembers. */
    readonly maxKeys: number;
    /** How long a caller waits for a permit. */
    readonly timeoutMs: number;
    /** How long a caller waits for the process of a limiter to be there. */
    readonly patienceMs: number;
  };
  /** Bulkheads. */
  readonly bulkhead: {
    /** How many calls may wait, over all keys. */
    readonly maxWaiting: number;
    /** How long a call waits for its turn. */
    readonly timeoutMs: number;
    /** How long a function that runs on after its call was given up keeps its place. */
    readonly holdMs: number;
  };
  /** Retry policies. */
  readonly retry: {
    /** How often the function is called, the first time included. */
    readonly attempts: number;
    /** The waits between attempts. */
    readonly backoff: Backoff;
    /** How long one attempt may take. */
    readonly timeoutMs: number;
    /** How long all attempts together may take. */
    readonly deadlineMs: number;
    /** The longest wait that an error may ask for. */
    readonly maxRetryAfterMs: number;
    /** The window of a budget of retries. */
    readonly budgetWindowMs: number;
    /** As many retries within the window are always allowed. */
    readonly budgetMinimum: number;
  };
} = {
  breaker: {
    windowMs: 10_000,
    minimumCalls: 10,
    failureRate: 0.5,
    slowRate: 1,
    slowMs: Number.POSITIVE_INFINITY,
    timeoutMs: 10_000,
    backoff: { minMs: 5_000, maxMs: 60_000 },
    probes: 1,
  },
  limiter: { maxWaiting: 1_000, maxKeys: 10_000, timeoutMs: 30_000, patienceMs: 5_000 },
  bulkhead: { maxWaiting: 1_000, timeoutMs: 30_000, holdMs: 60_000 },
  retry: {
    attempts: 3,
    backoff: { minMs: 100, maxMs: 10_000, jitter: 0.5 },
    timeoutMs: Number.POSITIVE_INFINITY,
    deadlineMs: Number.POSITIVE_INFINITY,
    maxRetryAfterMs: 60_000,
    budgetWindowMs: 10_000,
    budgetMinimum: 3,
  },
};
