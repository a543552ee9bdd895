// What becomes of a message after an attempt at it. Pure.

import { backoffMs } from "../../process/backoff.js";
import { showThrown } from "../../process/show.js";
import { usualRetryAfter } from "../../service/protection/retry.js";
import type { Item } from "../definition/adapter.js";
import type { Test } from "../definition/condition.js";
import { DeadLetterError, HopLimitError } from "../definition/errors.js";
import { childId, hopsOf } from "../definition/message-id.js";
import type { RetryPolicy } from "../definition/policy.js";
import type { Message, Publication, Step } from "../ledger/ledger.js";
import type { LineageEntry } from "../ledger/lineage.js";

/** The longest wait that an error may ask for: an hour. */
const RETRY_AFTER_MOST_MS = 3_600_000;

/** An outbound queue of a route, ready to choose. */
export interface Exit {
  readonly queue: string;
  readonly test: Test | undefined;
}

/** What the route says about it. */
export interface Rules {
  readonly route: string;
  readonly exits: readonly Exit[];
  /** A result goes to the first exit that takes it alone. */
  readonly firstMatch: boolean;
  readonly retry: RetryPolicy;
  readonly maxHops: number;
}

/** The messages that results of a message become: each goes to the queues whose condition holds. @throws what a condition throws */
export function publications(
  { exits, firstMatch }: Rules,
  parent: string,
  items: readonly Item<unknown>[],
): Publication[] {
  const children: Publication[] = [];
  for (const { value, key } of items) {
    for (const { queue, test } of exits) {
      if (test !== undefined && !test(value)) continue;
      children.push({ id: childId(parent, children.length), queue, value, key });
      if (firstMatch) break;
    }
  }
  return children;
}

/** The step for a message whose attempt has failed: tried again after a wait, or a dead letter. @param roll - in [0, 1) */
export function afterFailure(
  { retry }: Rules,
  message: Message,
  error: unknown,
  roll: number,
  entry: LineageEntry | undefined,
): Step {
  const attempt = message.attempts + 1;
  const text = showThrown(error);
  const isFinal = attempt >= retry.attempts || isForGood(error);
  if (isFinal) return { type: "dead", message, error: text, entry };
  const delayMs = Math.max(backoffMs(retry.backoff, attempt, roll), askedMs(error));
  return { type: "retry", message, delayMs, error: text };
}

/** How long the error says to wait. */
function askedMs(error: unknown): number {
  const ms: unknown = usualRetryAfter(error);
  return typeof ms === "number" && ms > 0 ? Math.min(Math.ceil(ms), RETRY_AFTER_MOST_MS) : 0;
}

/** Whether another attempt cannot help: the message is at fault, not a service. */
export function isForGood(error: unknown): boolean {
  if (error instanceof DeadLetterError || error instanceof HopLimitError) return true;
  try {
    return (error as { readonly retriable?: unknown } | null | undefined)?.retriable === false;
  } catch {
    return false;
  }
}

/** Why a message is not let into its route. */
export function refusal({ route, maxHops }: Rules, { id }: Message): HopLimitError | undefined {
  // Each number of an id takes three characters at least, with its dot: most ids need not be counted.
  return id.length >= 3 * maxHops && hopsOf(id) >= maxHops ? new HopLimitError(route, maxHops) : undefined;
}
