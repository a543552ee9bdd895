// A mailbox item in a few words: the library's own kinds of message by the names that users know.

import { CallMessage, CastMessage } from "../../behaviour/server/messages.js";
import { CallEvent, CastEvent } from "../../behaviour/state-machine/machine-process.js";
import type { TypedEvent } from "../../behaviour/state-machine/moves.js";
import { Delivery } from "../../dispatch/delivery.js";
import { SignalEntry, TaskEntry } from "../../process/entries.js";
import { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason } from "../../process/reason.js";
import { messageOf, Request } from "../../process/request.js";
import type { ChildStartOutcome } from "../../supervisor/child-process.js";
import { brief } from "./brief.js";
import { InjectedCrash } from "./errors.js";

/** An exit reason in a few words. */
export function reasonText(reason: ExitReason): string {
  return reason.type === "crash" && reason.error instanceof InjectedCrash
    ? "injected crash"
    : formatReason(reason);
}

/** What an awaited promise gave: the reply of a call, the started process, an exit reason, or an error. */
export function endingText(
  what: string,
  ended: { readonly value: unknown } | { readonly error: unknown },
  nameOf: (pid: Pid) => string,
): string | undefined {
  if ("error" in ended) return `failed: ${messageText(ended.error, nameOf)}`;
  const { value } = ended;
  if (what === "an exit") return reasonText(value as ExitReason);
  if (what === "a start") return `started ${messageText(pidOf(value) ?? value, nameOf)}`;
  if (value === undefined && what !== "a call") return undefined;
  const text = messageText(value, nameOf);
  return what === "a call" ? `reply ${text}` : text;
}

/** The pid of a process or of a handle such as a server's. */
function pidOf(value: unknown): Pid | undefined {
  const { pid } = (value ?? {}) as { pid?: unknown };
  return pid instanceof Pid ? pid : undefined;
}

/** @param nameOf - returns the name of a pid */
export function messageText(item: unknown, nameOf: (pid: Pid) => string): string {
  const describe = (value: object): string | undefined =>
    value instanceof Request ? "reply address" : undefined;
  const text = (value: unknown): string => brief(value, { nameOf, describe });
  const invoked = ({ method, args }: CallMessage | CastMessage): string =>
    `${method}(${args.map(text).join(", ")})`;
  if (item instanceof SignalEntry) {
    const { signal } = item;
    if (signal.type === "exit") return `EXIT of ${nameOf(signal.from)} (${reasonText(signal.reason)})`;
    if (signal.type === "down") return `DOWN of ${nameOf(signal.pid)} (${reasonText(signal.reason)})`;
    return `${signal.change} ${signal.group} by ${nameOf(signal.pid)}`;
  }
  if (item instanceof TaskEntry) return "a function of its own";
  if (item instanceof Delivery) {
    const { settlement, payload, attempt } = item;
    return settlement === undefined
      ? `delivery of ${text(payload)}, attempt ${attempt}`
      : `${settlement.type}: ${text(payload)}`;
  }
  if (isStartOutcome(item)) {
    const { id, outcome } = item;
    return `start of ${id}: ${outcome.type === "failed" ? reasonText(outcome.reason) : outcome.type}`;
  }
  if (item instanceof CallMessage) return `call ${invoked(item)}`;
  if (item instanceof CastMessage) return `cast ${invoked(item)}`;
  if (item instanceof CallEvent) return `call ${eventText(item.event, text)}`;
  if (item instanceof CastEvent) return `event ${eventText(item.event, text)}`;
  return item instanceof Request ? `call ${text(messageOf(item))}` : text(item);
}

/** An event of a state machine, by its name. */
export function eventText({ type, ...data }: TypedEvent, text: (value: unknown) => string): string {
  return Object.keys(data).length === 0 ? type : `${type} ${text(data)}`;
}

/** The message that a supervisor sends itself when the start of a child has ended. */
function isStartOutcome(item: unknown): item is ChildStartOutcome {
  const { type, id, outcome } = (item ?? {}) as Partial<ChildStartOutcome>;
  return type === "outcome" && typeof id === "string" && typeof outcome?.type === "string";
}
