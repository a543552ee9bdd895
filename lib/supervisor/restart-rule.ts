// When a child is restarted, and when it was restarted too often: the rules that all supervisors share.

import { type Backoff, backoffMs, startsAnew } from "../process/backoff.js";
import { type ExitReason, isOrderly } from "../process/reason.js";
import type { Restart } from "./child.js";
import type { Queue } from "./queue.js";

/** How many restarts are allowed within a sliding period. */
export interface RestartLimits {
  readonly intensity: number;
  readonly periodMs: number;
  readonly backoff: Backoff | undefined;
}

/** The past of a child, as far as it matters for the next restart. */
export interface RestartHistory {
  /** How often the child was restarted without running for the reset time of the backoff in between. */
  readonly attempts: number;
  /** How long the child ran before this exit; 0 when its start failed. */
  readonly ranForMs: number;
}

export interface RestartDecision {
  /** Times of the restarts within the period, this one included. */
  readonly restarts: Queue<number>;
  /** How many more restarts are allowed; negative when this one is too many. */
  readonly intensityLeft: number;
  readonly attempts: number;
  /** Wait before the start, 0 without backoff. */
  readonly delayMs: number;
}

/** Permanent children are always restarted, transient ones after an abnormal exit, temporary ones never. */
export function isRestarted(rule: Restart, reason: ExitReason): boolean {
  return rule === "permanent" || (rule === "transient" && !isOrderly(reason));
}

/**
 * Counts one more restart. Times older than the period are dropped. With unlimited intensity no times are kept.
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
  const attempts = startsAnew(backoff, child.ranForMs) ? 1 : child.attempts + 1;
  return { restarts, intensityLeft, attempts, delayMs: backoffMs(backoff, attempts, roll) };
}

/** How many of these restarts are within the period before `at`. */
export function countRecent(restarts: Queue<number>, periodMs: number, at: number): number {
  let recent = 0;
  for (const time of restarts) if (at - time <= periodMs) recent++;
  return recent;
}
