// What the parts of all kinds of steps have in common.

import type { Publication, Remembered, Step } from "./ledger.js";
import type { LiveMessage } from "./live-message.js";
import type { Entry } from "./step-writes.js";

const NOTHING: readonly Publication[] = [];
const NO_MESSAGES: readonly LiveMessage[] = [];

/** The messages that a step publishes. */
export function publishedBy(step: Step): readonly Publication[] {
  if (step.type === "source") return step.messages;
  return step.type === "settle" || step.type === "emit" ? step.children : NOTHING;
}

/** The messages that a step is about, each once. */
export function messagesOf(step: Step): readonly LiveMessage[] {
  if (step.type === "emit") return [...new Set(step.messages)] as LiveMessage[];
  if (step.type === "settle" || step.type === "retry" || step.type === "dead")
    return [step.message as LiveMessage];
  return NO_MESSAGES;
}

/** What adapters remember from the step on. */
export function rememberedBy(step: Step): readonly Remembered[] | undefined {
  return step.type === "settle" || step.type === "emit" ? step.remember : undefined;
}

/** The size of the messages that a step writes, about: their bytes, or their characters where they are texts. */
export function sizeOf({ step, bodies }: Pick<Entry, "step" | "bodies">): number {
  // A message that waits or is given up is written again.
  const again = step.type === "retry" || step.type === "dead" ? (step.message as LiveMessage).body.length : 0;
  return bodies.reduce((size, body) => size + body.length, again);
}
