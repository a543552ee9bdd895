// The outcome of an attempt: results become messages of other queues, a failure becomes a retry or a dead letter. Pure.

import type { Item } from "../definition/adapter.js";
import type { Test } from "../definition/condition.js";
import { HopLimitError } from "../definition/errors.js";
import { childId, hopsOf } from "../definition/message-id.js";
import type { RetryPolicy } from "../definition/policy.js";
import type { Message, Publication, Step } from "../ledger/ledger.js";
import type { LineageEntry } from "../ledger/lineage.js";
import { afterFailure as verdictAfter } from "../messages/verdict.js";

/** An outbound queue of a route, ready to choose. */
export interface Exit {
  readonly queue: string;
  readonly test: Test | undefined;
}

/** The rules of the route. */
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

/**
 * The step for a message whose attempt has failed: tried again after a wait, or a dead letter. A passing error of a store is no attempt: the
 * message waits longer each time.
 *
 * @param roll - in [0, 1)
 */
export function afterFailure(
  { retry }: Rules,
  message: Message,
  thrown: unknown,
  roll: number,
  entry: LineageEntry | undefined,
  wallMs: number,
): Step {
  const { attempts, setback } = message;
  const after = verdictAfter(retry, { attempts, setbacks: setback?.times ?? 0 }, thrown, roll, wallMs);
  const { error } = after;
  if (after.type === "dead") return { type: "dead", message, error, entry };
  const { delayMs } = after;
  if (after.type === "retry") return { type: "retry", message, delayMs, error };
  return { type: "retry", message, delayMs, error: undefined, setback: { times: after.setbacks, error } };
}

/** Why a message is not let into its route. */
export function refusal({ route, maxHops }: Rules, { id }: Message): HopLimitError | undefined {
  // Each number of an id takes three characters at least, with its dot: most ids need not be counted.
  return id.length >= 3 * maxHops && hopsOf(id) >= maxHops ? new HopLimitError(route, maxHops) : undefined;
}
