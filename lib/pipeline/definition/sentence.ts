// Decides what becomes of messages that have ended their process, as evidence says. Without evidence of which message was in work when a
// process ended, no message is accused (see lib/host/evidence). Pure.
//
//     evidence against a message    it waits in quarantine, longer each time, and is tried again; none of its attempts is used up
//     as often as the policy says   it becomes a dead letter, whose history says the evidence

import { backoffMs } from "../../process/backoff.js";
import type { QuarantinePolicy } from "./policy.js";

/** What becomes of a message that has ended its process once more. */
export type Sentence =
  | { readonly type: "quarantine"; readonly delayMs: number; readonly error: string }
  | { readonly type: "dead"; readonly error: string };

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
  const error = `ended its process (${evidence}), ${count === 1 ? "once" : `${count} times`}`;
  if (count >= most) return { type: "dead", error };
  return { type: "quarantine", delayMs: Math.max(1, backoffMs(backoff, count, roll)), error };
}
