// Colours, times and values as commands show them to people.

import { toJson } from "../../admin/json-view.js";
import { PayloadUnreadableError } from "../../host/payload/errors.js";
import { oneLine } from "../../process/printable.js";
import { jsonText } from "./json-text.js";

/** Paints a text, or leaves it as it is where there are no colours. */
export interface Style<Status extends string> {
  status(text: string, status: Status): string;
  dim(text: string): string;
  bad(text: string): string;
}

const CODES = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, grey: 90 } as const;
export type Colour = keyof typeof CODES;

/** A painted text is printed as it is, so it is cleaned here. */
function paint(text: string, colour: Colour): string {
  return text === "" ? "" : `\u001b[${CODES[colour]}m${oneLine(text)}\u001b[0m`;
}

/**
 * @param colours - whether the texts go to a terminal that wants colours
 * @param by - the colours of the statuses
 */
export function styleOf<Status extends string>(
  colours: boolean,
  by: Readonly<Record<Status, Colour>>,
): Style<Status> {
  if (!colours) return { status: oneLine, dim: oneLine, bad: oneLine };
  return {
    status: (text, status) => (Object.hasOwn(by, status) ? paint(text, by[status]) : oneLine(text)),
    dim: (text) => paint(text, "grey"),
    bad: (text) => paint(text, "red"),
  };
}

const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** A length of time in its largest unit: `3 min`. */
export function lengthOf(ms: number): string {
  const [size, unit] = UNITS.find(([least]) => ms >= least) ?? [1, "ms"];
  return `${Math.floor(ms / size)} ${unit}`;
}

/** How long ago, or in how long. */
export function whenText(at: number | undefined, now: number): string {
  if (at === undefined) return "";
  return at <= now ? `${lengthOf(now - at)} ago` : `in ${lengthOf(at - now)}`;
}

/** A value as JSON in one line, or why there is none. */
export function valueText(value: unknown): string {
  if (value === undefined) return "";
  const why = unreadable(value);
  return why === undefined ? jsonText(toJson(value)) : `(${why})`;
}

/** Over a socket, errors are plain objects. */
function unreadable(value: unknown): string | undefined {
  const { code, message } = (value ?? {}) as { code?: unknown; message?: unknown };
  if (code !== "ERR_FLOW_PAYLOAD_UNREADABLE" || typeof message !== "string") return undefined;
  return oneLine(
    value instanceof PayloadUnreadableError ? `${message}; --code MODULE may have its codec` : message,
  );
}

/** `1,240`. */
export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Errors have their stacks with them. */
export const firstLine = (error: string): string => error.split("\n", 1)[0] ?? "";
