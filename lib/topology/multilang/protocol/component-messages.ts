// The messages of a component in another program to its host: their types, and the check of a message from the wire.
// host-messages.ts has the other direction.

import { show } from "../../../process/show.js";
import type { LogLevel } from "../../definition/component.js";
import { MultilangError } from "./errors.js";

/** The id of a tuple in the protocol. */
export type MessageId = string | number;

/** Levels of a log line, each at its number in the protocol. */
export const LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error"];

export interface EmitMessage {
  readonly type: "emit";
  readonly values: readonly unknown[];
  /** Undefined when the component names no stream. */
  readonly stream: string | undefined;
  /** Id of a spout's reliable tuple. */
  readonly id: MessageId | undefined;
  readonly anchors: readonly MessageId[];
  /** The receiving task of a direct emit. */
  readonly task: number | undefined;
  /** Whether the component waits for the ids of the receiving tasks. */
  readonly needTaskIds: boolean;
}

/** A message of a component. */
export type ComponentMessage =
  | EmitMessage
  | { readonly type: "ack"; readonly id: MessageId }
  | { readonly type: "fail"; readonly id: MessageId }
  | { readonly type: "log"; readonly level: LogLevel; readonly text: string }
  | { readonly type: "error"; readonly text: string }
  | { readonly type: "metrics"; readonly name: string; readonly params: unknown }
  | { readonly type: "sync" }
  | { readonly type: "pid"; readonly pid: number };

/** The messages that are about tuples and commands, not about the program itself. */
export type WorkMessage = Extract<ComponentMessage, { readonly type: "emit" | "ack" | "fail" | "sync" }>;

/** A JSON object whose parts are not checked yet. */
export type Parts = Readonly<Record<string, unknown>>;

/** Checks a message of a component. @throws MultilangError that names the invalid part */
export function parseComponentMessage(value: unknown): ComponentMessage {
  const parts = object("a component's message", value);
  const command = parts.command;
  if (command === undefined && "pid" in parts) return { type: "pid", pid: whole("pid", parts.pid) };
  switch (command) {
    case "emit":
      return emit(parts);
    case "ack":
    case "fail":
      return { type: command, id: messageId(`id of ${command}`, parts.id) };
    case "log":
      return { type: "log", level: level(parts.level), text: string("msg of log", parts.msg) };
    case "error":
      return { type: "error", text: string("msg of error", parts.msg) };
    case "metrics":
      return { type: "metrics", name: string("name of metrics", parts.name), params: parts.params };
    case "sync":
      return { type: "sync" };
    default:
      throw new MultilangError(
        "command",
        `a component's command must be emit, ack, fail, log, error, metrics or sync; got ${show(command)} ` +
          `in ${show(value)}`,
      );
  }
}

function emit(parts: Parts): EmitMessage {
  const { tuple, stream, id, anchors, task, need_task_ids: need } = parts;
  if (!Array.isArray(tuple)) throw wrong("tuple of emit", tuple, "an array");
  if (isGiven(anchors) && !Array.isArray(anchors)) throw wrong("anchors of emit", anchors, "an array of ids");
  if (isGiven(need) && typeof need !== "boolean") throw wrong("need_task_ids of emit", need, "true or false");
  const target = isGiven(task) ? whole("task of emit", task) : 0;
  return {
    type: "emit",
    values: tuple,
    stream: isGiven(stream) ? string("stream of emit", stream) : undefined,
    id: isGiven(id) ? messageId("id of emit", id) : undefined,
    anchors: isGiven(anchors) ? (anchors as unknown[]).map((one) => messageId("an anchor of emit", one)) : [],
    // Libraries for languages without optional numbers send 0 for no task.
    task: target === 0 ? undefined : target,
    needTaskIds: need !== false,
  };
}

/** Whether a part is given: libraries send null for a missing part. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function level(value: unknown): LogLevel {
  if (!isGiven(value)) return "info";
  const found = typeof value === "number" ? LEVELS[value] : undefined;
  if (found === undefined) throw wrong("level of log", value, "a whole number from 0 (trace) to 4 (error)");
  return found;
}

export function object(what: string, value: unknown): Parts {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Parts;
  throw wrong(what, value, "a JSON object");
}

export function string(what: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw wrong(what, value, "a string");
}

export function whole(what: string, value: unknown): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw wrong(what, value, "a whole number");
}

/** A number above 2^53 loses digits in JavaScript, so the tuple could never be settled. */
export function messageId(what: string, value: unknown): MessageId {
  if (typeof value === "string" || Number.isSafeInteger(value)) return value as MessageId;
  throw wrong(what, value, "a string, or a whole number below 2^53");
}

export function wrong(what: string, value: unknown, allowed: string): MultilangError {
  return new MultilangError("shape", `${what} must be ${allowed}; got ${show(value)}`);
}
