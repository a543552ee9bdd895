// The texts of incidents. They are bounded, in one line, and copies: a part of a text keeps the whole text in memory. What a user has thrown or
// sent may do anything when it is read, so nothing here throws. Of a message there is its kind, and never its content.

import { Cast } from "../../behaviour/handle/methods.js";
import { Delivery } from "../../dispatch/delivery.js";
import { ContextMessage, isSpecial, SignalEntry, TaskEntry } from "../../process/entries.js";
import { isFrame, userFrames } from "../../process/own-code.js";
import type { Pid } from "../../process/pid.js";
import { oneLine } from "../../process/printable.js";
import type { ExitReason } from "../../process/reason.js";
import { pathOf } from "../../process/report.js";
import { Request } from "../../process/request.js";
import { cut, formatReason, isError, kindOf, wholeStackOf } from "../../process/show.js";
import type { Incident, IncidentError } from "./operations.js";
import { ownText } from "./own-text.js";

/** Most characters of the texts of an incident. */
const LENGTHS = { name: 80, text: 300, message: 500, path: 300, frame: 300 } as const;
/** Most frames of a stack. */
const FRAMES = 12;
/** Most characters of a stack that are looked at. */
const STACK = 10_000;

/** A text of an incident. */
export function shown(text: string, longest: keyof typeof LENGTHS = "text"): string {
  return ownText(oneLine(cut(text, LENGTHS[longest])));
}

export const pidText = ({ node, id }: Pid<never>): string => `${node.name}.${id}`;

/** The fields of an incident that say which process it is about. */
export function whose(pid: Pid<never>, parent?: Pid): Pick<Incident, "pid" | "label" | "path"> {
  const { label } = pid;
  const path = shown(pathOf(pid as Pid, parent), "path");
  return { pid: pidText(pid), ...(label !== undefined && { label: shown(label, "name") }), path };
}

/** An address in a text: a name, or the label and number of a process. */
export function addressText(to: Pid<never> | string): string {
  if (typeof to === "string") return `"${cut(to, LENGTHS.name)}"`;
  return to.label === undefined ? pidText(to) : `${cut(to.label, LENGTHS.name)} (${pidText(to)})`;
}

/** What tells addresses apart: the label, where there is one. */
export const addressKey = (to: Pid<never> | string): string | number =>
  typeof to === "string" ? cut(to, LENGTHS.name) : (to.label ?? to.id);

export const reasonText = (reason: ExitReason): string => shown(formatReason(reason));

/** An error, if it is one. */
export function errorView(error: unknown): IncidentError | undefined {
  if (!isError(error)) return undefined;
  const code = field(error, "code");
  const stack = (wholeStackOf(error) ?? "").slice(-STACK).trimEnd();
  const frames = userFrames(stack).slice(0, FRAMES);
  const all = stack.split("\n").filter(isFrame).length;
  return {
    name: shown(field(error, "name") ?? "Error", "name"),
    message: shown(field(error, "message") ?? "(no readable message)", "message"),
    ...(code !== undefined && { code: shown(code, "name") }),
    frames: frames.map((frame) => shown(frame.trim(), "frame")),
    hidden: Math.max(0, all - frames.length),
  };
}

/** The name and the message of an error, or the kind of another value: what tells crashes apart. */
export function errorKey(error: unknown): string {
  if (!isError(error)) return kindOf(error);
  return `${cut(field(error, "name") ?? "", LENGTHS.name)}: ${cut(field(error, "message") ?? "", LENGTHS.name)}`;
}

/** A field of an error that is a text. It may be a getter. */
function field(of: object, name: string): string | undefined {
  try {
    const value = (of as Readonly<Record<string, unknown>>)[name];
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The kind of an entry of a mailbox: `call take`, `cast restock`, `message Order`. Undefined for none, and for the library's own. */
export function kindOfEntry(entry: unknown): string | undefined {
  if (typeof entry !== "object" || entry === null) return entry === undefined ? undefined : plainKind(entry);
  try {
    return isSpecial(entry) ? specialKind(entry) : messageKind(entry);
  } catch {
    // A Proxy may throw at `instanceof`.
    return "message object";
  }
}

const plainKind = (message: unknown): string => `message ${message === null ? "null" : typeof message}`;

/** By the name of the class alone. */
function messageKind(message: object): string {
  if (message instanceof Cast) return `cast ${cut(message.method, LENGTHS.name)}`;
  const kind = kindOf(message);
  return `message ${kind.slice(kind.startsWith("an ") ? 3 : 2)}`;
}

function specialKind(entry: unknown): string | undefined {
  if (entry instanceof ContextMessage) return kindOfEntry(entry.message);
  if (entry instanceof SignalEntry) return `signal ${entry.signal.type}`;
  if (entry instanceof TaskEntry) return "timer or task";
  if (entry instanceof Delivery) return `delivery of ${kindOf(entry.envelope.payload)}`;
  if (!(entry instanceof Request)) return undefined;
  const method = field(entry, "method");
  return method === undefined ? `call with ${kindOf(entry.message)}` : `call ${cut(method, LENGTHS.name)}`;
}
