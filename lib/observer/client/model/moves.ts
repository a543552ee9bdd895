// Messages that wait in queues of an execution, moved to another route or given up by people. Pure.

import type { MessageRecord } from "../../../pipeline/operations/operations.js";
import type { ActValues } from "./act-form.js";
import { plural } from "./format.js";

/** Why a message cannot be moved or given up. Undefined: it can. */
export function moveRefusal(status: MessageRecord["status"]): string | undefined {
  if (status === "ready" || status === "delayed") return undefined;
  return status === "dead" ? "It is a dead letter: retry, edit or drop it." : "It is in no queue any more.";
}

/** The arguments of the change of one message, or of a queue that was chosen; of neither, of all that no route takes. */
export function moveArgs(
  id: string,
  { queue, ...values }: ActValues,
  message?: string,
): Readonly<Record<string, unknown>> {
  return {
    id,
    ...(message !== undefined && { messages: [message] }),
    ...(queue !== undefined && { queues: [queue] }),
    ...values,
  };
}

/** What such a change has done. */
export function movedText(what: string, { messages, more }: { messages: number; more: boolean }): string {
  return `${plural(messages, "message")} ${what}${more ? "; there may be more." : "."}`;
}
