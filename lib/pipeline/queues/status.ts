// What a handler says about a message, and what becomes of the message then. Pure.

import { backoffMs } from "../../process/backoff.js";
import type { Duration } from "../../process/duration.js";
import { duration } from "../../process/duration.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";
import { type AfterFailure, afterFailure, sentenceFor } from "../messages/verdict.js";
import { QUEUE_LIMITS, type QueuePolicy } from "./limits.js";

/** What a handler returns: see {@link done}, {@link retry} and {@link dead}. */
export type Status =
  | { readonly type: "done" }
  | {
      readonly type: "retry";
      /** Milliseconds until the next attempt, 0 or more; undefined: as the queue's policy says. */
      readonly delayMs: number | undefined;
      /** Why, for the history of the message. */
      readonly reason: string;
    }
  | {
      readonly type: "dead";
      /** Why, for the history of the message. */
      readonly reason: string;
    };

/**
 * The message is settled: it leaves the queue.
 *
 * @example orders.subscribe({}, () => done);
 */
export const done: Status = Object.freeze({ type: "done" });

/** Options of {@link retry}. */
export interface RetryOptions {
  /** The wait before the next attempt. Default: as the queue's policy says. */
  readonly delay?: Duration;
  /** Why, for people. */
  readonly reason?: string;
}

/**
 * The message is tried again later. It counts as an attempt.
 *
 * @throws OptionError
 * @example orders.subscribe({}, () => retry({ delay: "2 s", reason: "the shop is closed" }));
 */
export function retry(options: RetryOptions = {}): Status {
  only("", options, ["delay", "reason"]);
  const { delay, reason = "the handler asked for another attempt" } = options;
  const delayMs = delay === undefined ? undefined : duration("delay", delay);
  return { type: "retry", delayMs, reason: String(reason) };
}

/**
 * The message becomes a dead letter at once, even if attempts are left.
 *
 * @param reason - for people
 * @example orders.subscribe({}, () => dead("there is no such customer"));
 */
export function dead(reason: string): Status {
  return { type: "dead", reason: text("reason", reason) };
}

/** Whether a handler returned a status. */
export function isStatus(value: unknown): value is Status {
  const type = (value as Partial<Status> | null | undefined)?.type;
  return type === "done" || type === "retry" || type === "dead";
}

/** A failed attempt, as a message keeps it. */
export interface Failure {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** When it ended, in milliseconds since 1970. */
  readonly at: number;
  /** What went wrong. */
  readonly error: string;
  /**
   * How it is known that the message ended its process: `exit`, `uncaught`, `spin`, `standing` or `search`. Absent: the attempt failed in
   * another way. Ends by evidence count apart from the attempts.
   */
  readonly evidence?: string;
  /**
   * A passing error of a store or a database was in the way, so often in a row; `error` is the last of these errors. It is no attempt. Absent:
   * the attempt failed in another way.
   */
  readonly setbacks?: number;
}

/** How one attempt ended. */
export type Outcome =
  | { readonly type: "status"; readonly status: Status }
  | { readonly type: "threw"; readonly error: unknown };

/** What becomes of the message. */
export type Verdict =
  | { readonly type: "done" }
  | AfterFailure
  /** It has ended its process. */
  | { readonly type: "dead"; readonly error: string; readonly evidence: string }
  /** It has ended its process, and waits. None of its attempts is used up. */
  | {
      readonly type: "quarantine";
      readonly delayMs: number;
      readonly error: string;
      readonly evidence: string;
    };

/**
 * What becomes of a message that has ended its process once more, by evidence.
 *
 * @param ends - how often it had done so before: see {@link endsOf}
 * @param roll - in [0, 1)
 */
export function verdictOnEnd(
  { quarantine }: QueuePolicy,
  ends: number,
  evidence: string,
  roll: number,
): Verdict {
  return { ...sentenceFor(quarantine, ends, evidence, roll), evidence };
}

/** How often a message has ended its process. Rows of earlier releases have no count, but a history, which may have lost its first entries. */
export function endsOf({
  quarantines,
  history,
}: {
  readonly quarantines: number | null;
  readonly history: string | null;
}): number {
  return quarantines ?? historyOf(history).filter((failure) => failure.evidence !== undefined).length;
}

/**
 * What becomes of a message after an attempt.
 *
 * @param message - how often it was tried before, and its history
 * @param roll - in [0, 1)
 * @param wallMs - milliseconds since 1970
 */
export function verdictOf(
  policy: QueuePolicy,
  { attempts, history }: { readonly attempts: number; readonly history: string | null },
  outcome: Outcome,
  roll: number,
  wallMs: number,
): Verdict {
  const attempt = attempts + 1;
  if (outcome.type === "threw") {
    const setbacks = historyOf(history).at(-1)?.setbacks ?? 0;
    return afterFailure(policy, { attempts, setbacks }, outcome.error, roll, wallMs);
  }
  const { status } = outcome;
  switch (status.type) {
    case "done":
      return status;
    case "retry":
      return attempt >= policy.attempts
        ? { type: "dead", error: status.reason }
        : {
            type: "retry",
            delayMs: status.delayMs ?? backoffMs(policy.backoff, attempt, roll),
            error: status.reason,
          };
    case "dead":
      return { type: "dead", error: status.reason };
    default:
      return status satisfies never;
  }
}

/** The history of a message with one failure more. */
export function withFailure(history: string | null, failure: Failure): string {
  const { historyEntries, errorCharacters } = QUEUE_LIMITS;
  const error = failure.error.slice(0, errorCharacters);
  const before = historyOf(history);
  // The last of several setbacks in a row holds their number, so it replaces the one before.
  if (failure.setbacks !== undefined && before.at(-1)?.setbacks !== undefined) before.pop();
  return JSON.stringify([...before, { ...failure, error }].slice(-historyEntries));
}

export function historyOf(history: string | null): Failure[] {
  return history === null ? [] : (JSON.parse(history) as Failure[]);
}
