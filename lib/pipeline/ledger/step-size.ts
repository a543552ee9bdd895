// How much a step writes, about: the bytes of its messages, or their characters where they are texts.

import type { LiveMessage } from "./live-message.js";
import type { Entry } from "./step-writes.js";

/** The size of the messages that a step writes. */
export function sizeOf({ step, bodies }: Pick<Entry, "step" | "bodies">): number {
  // A message that waits or is given up is written again.
  const again = step.type === "retry" || step.type === "dead" ? (step.message as LiveMessage).body.length : 0;
  return bodies.reduce((size, body) => size + body.length, again);
}
