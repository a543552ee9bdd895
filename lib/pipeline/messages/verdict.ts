// What becomes of a message whose attempt has failed, and of one that has ended its process, in pipelines and in queues alike. Pure.
//
//     a passing error of a store    it waits, longer each time, and is tried again; none of its attempts is used up
//     another error                 it waits, and is tried again, until its attempts are used up or the error is final: a dead letter
//     evidence against a message    it waits in quarantine, longer each time, and is tried again; none of its attempts is used up
//     as often as the policy says   it becomes a dead letter, whose history says the evidence
//
// Without evidence of which message was in work when a process ended, no message is accused (see lib/host/evidence).

import { type Backoff, backoffMs } from "../../process/backoff.js";
import { askedWait } from "../../process/retry-after.js";
import { showThrown } from "../../process/show.js";
import { passes, passingWait, storeClassOf } from "../../store/error-classes.js";
import type { QuarantinePolicy } from "../definition/policy.js";
import { isForGood } from "./for-good.js";

/** What becomes of a message whose attempt has failed. */
export type AfterFailure =
  | { readonly type: "retry"; readonly delayMs: number; readonly error: string }
  | { readonly type: "dead"; readonly error: string }
  /** A passing error of a store was in the way, so often in a row. */
  | { readonly type: "setback"; readonly delayMs: number; readonly error: string; readonly setbacks: number };

/**
 * What becomes of a message after a failed attempt.
 *
 * @param message - how often it was tried before, and how many setbacks it met in a row
 * @param roll - in [0, 1)
 * @param wallMs - milliseconds since 1970
 */
export function afterFailure(
  policy: { readonly attempts: number; readonly backoff: Backoff },
  message: { readonly attempts: number; readonly setbacks: number },
  thrown: unknown,
  roll: number,
  wallMs: number,
): AfterFailure {
  const attempt = message.attempts + 1;
  const error = showThrown(thrown);
  const asked = (delayMs: number): number => Math.max(delayMs, askedWait(thrown, wallMs));
  if (passes(storeClassOf(thrown))) {
    const setbacks = message.setbacks + 1;
    return { type: "setback", delayMs: asked(passingWait(setbacks, roll)), error, setbacks };
  }
  if (attempt >= policy.attempts || isForGood(thrown)) return { type: "dead", error };
  return { type: "retry", delayMs: asked(backoffMs(policy.backoff, attempt, roll)), error };
}

/** What becomes of a message that has ended its process once more. */
export type Sentence =
  | { readonly type: "quarantine"; readonly delayMs: number; readonly error: string }
  | { readonly type: "dead"; readonly error: string };

/** The errors of ends of processes begin so. */
const ENDED = "ended its process (";

/** Whether an error in the history of a message is an end of its process, by evidence. @param ends - how often it ended a process */
export function isEndOfProcess(error: string | undefined, ends: number): boolean {
  return ends > 0 && error?.startsWith(ENDED) === true;
}

/**
 * What becomes of it.
 *
 * @param ends - how often it had ended a process before
 * @param evidence - how that is known: `exit`, `uncaught`, and so on
 * @param roll - in [0, 1)
 */
export function sentenceFor(
  { ends: most, backoff }: QuarantinePolicy,
  ends: number,
  evidence: string,
  roll: number,
): Sentence {
  const count = ends + 1;
  const error = `${ENDED}${evidence}), ${count === 1 ? "once" : `${count} times`}`;
  if (count >= most) return { type: "dead", error };
  return { type: "quarantine", delayMs: Math.max(1, backoffMs(backoff, count, roll)), error };
}
