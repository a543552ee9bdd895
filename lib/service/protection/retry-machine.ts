// When a failed attempt is repeated, as a pure machine. The waits are those of lib/process/backoff.ts.

import { type Backoff, backoffMs } from "../../process/backoff.js";

/** The rule of one retry policy. */
export interface RetryConfig {
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly deadlineMs: number;
  readonly maxRetryAfterMs: number;
}

/** One guarded call. */
export interface RetryMachine {
  readonly config: RetryConfig;
  /** When the call began. */
  readonly begun: number;
  /** Attempts begun so far, 1 or more. */
  readonly attempt: number;
}

/** An attempt has failed. */
export interface Failed {
  readonly type: "failed";
  readonly now: number;
  /** A number in [0, 1) that decides the jitter. */
  readonly roll: number;
  /** Whether another attempt may help. */
  readonly isRetryable: boolean;
  /** The error says that an earlier attempt is in vain. */
  readonly retryAfterMs: number | undefined;
  /** Whether the budget allows another retry. */
  readonly hasBudget: boolean;
}

/** Why the error of the last attempt is the end. */
export type GaveUp = "not-retryable" | "attempts" | "budget" | "retry-after" | "deadline";

export type RetryEffect =
  | { readonly type: "retry"; readonly attempt: number; readonly inMs: number }
  | { readonly type: "give-up"; readonly why: GaveUp };

export function initial(config: RetryConfig, now: number): RetryMachine {
  return { config, begun: now, attempt: 1 };
}

/** The budget is asked last, so that only retries that are made draw on it. */
export function decide(
  machine: RetryMachine,
  { now, roll, isRetryable, retryAfterMs = 0, hasBudget }: Failed,
): readonly [RetryMachine, readonly RetryEffect[]] {
  const { config, begun, attempt } = machine;
  const giveUp = (why: GaveUp): readonly [RetryMachine, readonly RetryEffect[]] => [
    machine,
    [{ type: "give-up", why }],
  ];
  if (!isRetryable) return giveUp("not-retryable");
  if (attempt >= config.attempts) return giveUp("attempts");
  if (retryAfterMs > config.maxRetryAfterMs) return giveUp("retry-after");
  const inMs = Math.max(retryAfterMs, backoffMs(config.backoff, attempt, roll));
  // A retry at the deadline has no time left.
  if (now - begun + inMs >= config.deadlineMs) return giveUp("deadline");
  if (!hasBudget) return giveUp("budget");
  return [{ ...machine, attempt: attempt + 1 }, [{ type: "retry", attempt: attempt + 1, inMs }]];
}
