// Exit reasons as values that travel. Every exit can be sent: a part that cannot be encoded becomes a description.

import {
  crash,
  custom,
  type ExitReason,
  KILL,
  KILLED,
  NOCONNECTION,
  NOPROC,
  NORMAL,
  SHUTDOWN,
  shutdown,
  toReason,
} from "../../process/reason.js";
import { cut, isError, MESSAGE_LENGTH, show, stackOf } from "../../process/show.js";
import { FailedChild } from "../../supervisor/protocol.js";

/** Reasons without a value: their type says all. */
const WORDS = new Map<unknown, ExitReason>(
  [NORMAL, SHUTDOWN, KILL, KILLED, NOPROC, NOCONNECTION].map((reason) => [reason.type, reason]),
);

/** The reason as a value for the codec. */
export function wireReason(reason: ExitReason): unknown {
  switch (reason.type) {
    case "crash":
      return { type: "crash", error: reason.error };
    case "custom":
      return { type: "custom", value: reason.value };
    case "shutdown": {
      const { detail } = reason;
      if (detail === undefined) return "shutdown";
      if (!(detail instanceof FailedChild)) return { type: "shutdown", detail };
      return { type: "failed child", id: detail.id, reason: wireReason(detail.reason) };
    }
    default:
      return reason.type;
  }
}

/** How deep failed children may be nested. */
const MAX_CHILDREN = 100;

/** @throws TypeError, OptionError */
export function readReason(value: unknown, depth = 0): ExitReason {
  const known = WORDS.get(value);
  if (known !== undefined) return known;
  const { type, id, reason } = value as { type?: unknown; id?: unknown; reason?: unknown };
  if (type !== "failed child") return toReason(value as ExitReason);
  if (typeof id !== "string" || depth === MAX_CHILDREN) throw new TypeError("a failed child that is none");
  return shutdown(new FailedChild(id, readReason(reason, depth + 1)));
}

/** The same reason as a description, which can always be sent. */
export function describeReason(reason: ExitReason): unknown {
  switch (reason.type) {
    case "crash":
      return wireReason(crash(describeError(reason.error)));
    case "custom":
      return wireReason(custom(show(reason.value)));
    case "shutdown":
      return wireReason(shutdown(show(reason.detail)));
    default:
      return reason.type;
  }
}

/** An error with the name, the message and the stack of another one, in bounded length. Never throws. */
export function describeError(thrown: unknown): Error {
  const described = new Error(messageOf(thrown));
  const stack = isError(thrown) ? stackOf(thrown) : undefined;
  Object.defineProperty(described, "name", {
    value: textOf(thrown, "name") ?? "Error",
    configurable: true,
    writable: true,
  });
  Object.defineProperty(described, "stack", {
    value: stack ?? `${described.name}: ${described.message}`,
    configurable: true,
    writable: true,
  });
  return described;
}

function messageOf(thrown: unknown): string {
  return isError(thrown) ? (textOf(thrown, "message") ?? "(no readable message)") : show(thrown);
}

function textOf(thrown: unknown, key: "name" | "message"): string | undefined {
  try {
    const text = (thrown as Record<string, unknown>)[key];
    return typeof text === "string" ? cut(text, MESSAGE_LENGTH) : undefined;
  } catch {
    return undefined;
  }
}
