// Colours, times and values as the command shows them to people.

import { toJson } from "../../flow/operations/json-view.js";
import type { FlowStatus } from "../../flow/operations/operations.js";
import { jsonText, oneLine } from "../shell/printable.js";
import { isUnreadable } from "./answer.js";

/** Paints a text, or leaves it as it is where there are no colours. */
export interface Style {
  status(text: string, status: FlowStatus): string;
  dim(text: string): string;
  bad(text: string): string;
}

/** A painted text is printed as it is, so it is cleaned here. */
const paint =
  (code: number) =>
  (text: string): string =>
    text === "" ? "" : `\u001b[${code}m${oneLine(text)}\u001b[0m`;
const [red, green, yellow, blue, magenta, grey] = [
  paint(31),
  paint(32),
  paint(33),
  paint(34),
  paint(35),
  paint(90),
];

/** @param colours - whether the texts go to a terminal that wants colours */
export function styleOf(colours: boolean): Style {
  if (!colours) return { status: oneLine, dim: oneLine, bad: oneLine };
  const by: Readonly<Record<FlowStatus, ((text: string) => string) | undefined>> = {
    ...{ pending: grey, running: blue, waiting: grey, paused: yellow, hospitalized: magenta },
    ...{ completed: green, failed: red, cancelled: yellow, killed: red },
  };
  return {
    status: (text, status) => (by[status] ?? oneLine)(text),
    dim: grey,
    bad: red,
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
  return oneLine(isUnreadable(value) ? `${message}; --code MODULE may have its codec` : message);
}
