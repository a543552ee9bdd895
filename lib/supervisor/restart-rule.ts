// When an ended child is started again, and when that has happened too often: the rules every supervisor shares.

import { type Backoff, backoffMs, isCalm } from "../process/backoff.js";
import { type ExitReason, isOrderly } from "../process/reason.js";
import type { Restart } from "./child.js";

/** How many restarts within a sliding period are still a repair, and not a broken service. */
export interface RestartLimits {
  readonly intensity: number;
  readonly periodMs: number;
  readonly backoff: Backoff | undefined;
}

/** When a child last came up, and how often it was started again without a calm time between. */
export interface RestartHistory {
  readonly since: number;
  readonly attempts: number;
}

export interface RestartDecision {
  /** Times of the restarts within the period, this one included. */
  readonly restarts: readonly number[];
  /** Restarts still allowed; negative when this one is too many. */
  readonly intensityLeft: number;
  readonly attempts: number;
  /** Wait before the start, 0 without backoff. */
  readonly delayMs: number;
}

/** permanent always, transient after an abnormal end, temporary never. */
export function isRestarted(rule: Restart, reason: ExitReason): boolean {
  return rule === "permanent" || (rule === "transient" && !isOrderly(reason));
}

/**
 * Counts one more restart: those older than the period are dropped.
 *
 * @param at - now, in milliseconds of the system's clock
 * @param roll - a number in [0, 1) for the backoff's jitter
 */
export function countRestart(
  { intensity, periodMs, backoff }: RestartLimits,
  earlier: readonly number[],
  child: RestartHistory,
  at: number,
  roll: number,
): RestartDecision {
  const restarts = [...earlier.filter((time) => at - time <= periodMs), at];
  const intensityLeft = intensity - restarts.length;
  if (backoff === undefined) return { restarts, intensityLeft, attempts: child.attempts + 1, delayMs: 0 };
  const attempts = isCalm(backoff, at - child.since) ? 1 : child.attempts + 1;
  return { restarts, intensityLeft, attempts, delayMs: backoffMs(backoff, attempts, roll) };
}
