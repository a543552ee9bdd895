// When an ended child is started again, and when that has happened too often: the rules every supervisor shares.

import { type Backoff, backoffMs, isCalm } from "../process/backoff.js";
import { type ExitReason, isOrderly } from "../process/reason.js";
import type { Restart } from "./child.js";
import type { Queue } from "./queue.js";

/** How many restarts within a sliding period are still a repair, and not a broken service. */
export interface RestartLimits {
  readonly intensity: number;
  readonly periodMs: number;
  readonly backoff: Backoff | undefined;
}

/** What of a child's past counts when it is started once more. */
export interface RestartHistory {
  /** How often it was started again without a calm time between. */
  readonly attempts: number;
  /** How long it ran before it ended now; 0 when it did not even come up. */
  readonly ranForMs: number;
}

export interface RestartDecision {
  /** Times of the restarts within the period, this one included. */
  readonly restarts: Queue<number>;
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
 * Counts one more restart: those older than the period are dropped, and none is kept that no limit asks for.
 *
 * @param earlier - times of restarts, the oldest first
 * @param at - now, in milliseconds of the system's clock
 * @param roll - a number in [0, 1) for the backoff's jitter
 */
export function countRestart(
  { intensity, periodMs, backoff }: RestartLimits,
  earlier: Queue<number>,
  child: RestartHistory,
  at: number,
  roll: number,
): RestartDecision {
  let restarts = earlier;
  if (intensity !== Number.POSITIVE_INFINITY) {
    for (let oldest = restarts.first; oldest !== undefined && at - oldest > periodMs; oldest = restarts.first)
      restarts = restarts.withoutFirst();
    restarts = restarts.with(at);
  }
  const intensityLeft = intensity - restarts.length;
  if (backoff === undefined) return { restarts, intensityLeft, attempts: child.attempts + 1, delayMs: 0 };
  const attempts = isCalm(backoff, child.ranForMs) ? 1 : child.attempts + 1;
  return { restarts, intensityLeft, attempts, delayMs: backoffMs(backoff, attempts, roll) };
}
