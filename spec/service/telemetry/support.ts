// Listens to the telemetry of a system, and keeps what it hears.

import type { System } from "signalbox";
import {
  type TelemetryEventName,
  type TelemetryEvents,
  type TelemetryOptions,
  type TelemetryStream,
  telemetry,
} from "signalbox/service";

export const NAMES: readonly TelemetryEventName[] = [
  ...(["call:begin", "call:end", "cast", "message:begin", "message:end"] as const),
  ...(["dispatch:begin", "dispatch:end", "attempt:begin", "attempt:end"] as const),
  ...(["start:begin", "start:end", "process:begin", "process:end", "crash", "restart"] as const),
];

export type Heard = {
  [Name in TelemetryEventName]: TelemetryEvents[Name] & { readonly event: Name };
}[TelemetryEventName];

export interface Ear {
  readonly stream: TelemetryStream;
  readonly heard: Heard[];
  /** The events of one name. */
  of<Name extends TelemetryEventName>(name: Name): TelemetryEvents[Name][];
}

export function listen(
  system: System,
  options?: TelemetryOptions,
  names: readonly TelemetryEventName[] = NAMES,
): Ear {
  const stream = telemetry(system, options);
  const heard: Heard[] = [];
  for (const name of names)
    stream.subscribe(name, (event) => void heard.push({ ...event, event: name } as Heard));
  const of = <Name extends TelemetryEventName>(name: Name): TelemetryEvents[Name][] =>
    heard.filter((one) => one.event === name) as unknown as TelemetryEvents[Name][];
  return { stream, heard, of };
}

/** Spans that have no end, or more than one, or an end without a begin. */
export function unbalanced(heard: readonly Heard[]): string[] {
  const open = new Map<string, number>();
  const wrong: string[] = [];
  for (const event of heard) {
    const [kind, edge] = event.event.split(":");
    if (edge === undefined || !("span" in event)) continue;
    const key = `${kind} ${event.span}`;
    const n = open.get(key);
    if (edge === "begin") {
      if (n !== undefined) wrong.push(`${key} begins twice`);
      open.set(key, 0);
    } else if (n !== 0) wrong.push(`${key} ends ${n === undefined ? "without a begin" : "twice"}`);
    else open.set(key, 1);
  }
  for (const [key, ends] of open) if (ends === 0) wrong.push(`${key} has no end`);
  return wrong;
}
