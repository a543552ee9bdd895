// The channels of node:diagnostics_channel that carry the events. On a host without that module they never have subscribers.

import { optionalModule } from "../../process/node-modules.js";
import { oneOf } from "../../process/options.js";
import type { TelemetryEventName, TelemetryEvents } from "./events.js";

/** The part of a channel that telemetry uses. */
export interface EventChannel<E> {
  readonly hasSubscribers: boolean;
  publish(event: E): void;
  subscribe(listener: (event: E) => void): void;
  unsubscribe(listener: (event: E) => void): unknown;
}

const host = optionalModule("node:diagnostics_channel");

/** Whether the host can carry events. */
export const hasChannels: boolean = host !== undefined;

const silent: EventChannel<unknown> = {
  hasSubscribers: false,
  publish: () => undefined,
  subscribe: () => undefined,
  unsubscribe: () => false,
};

/**
 * The name of the channel of an event, for `subscribe` of node:diagnostics_channel.
 *
 * @example telemetryChannel("call:end"); // "signalbox:call:end"
 */
export function telemetryChannel(event: TelemetryEventName): string {
  oneOf("event", event, Object.keys(CHANNELS));
  return `signalbox:${event}`;
}

function channel<Name extends TelemetryEventName>(event: Name): EventChannel<TelemetryEvents[Name]> {
  return (host?.channel(`signalbox:${event}`) ?? silent) as EventChannel<TelemetryEvents[Name]>;
}

/** Every channel. The objects are kept: Node forgets a channel without references. */
export const CHANNELS: { readonly [Name in TelemetryEventName]: EventChannel<TelemetryEvents[Name]> } = {
  "call:begin": channel("call:begin"),
  "call:end": channel("call:end"),
  cast: channel("cast"),
  "message:begin": channel("message:begin"),
  "message:end": channel("message:end"),
  "http:begin": channel("http:begin"),
  "http:end": channel("http:end"),
  "dispatch:begin": channel("dispatch:begin"),
  "dispatch:end": channel("dispatch:end"),
  "attempt:begin": channel("attempt:begin"),
  "attempt:end": channel("attempt:end"),
  "start:begin": channel("start:begin"),
  "start:end": channel("start:end"),
  "process:begin": channel("process:begin"),
  "process:end": channel("process:end"),
  crash: channel("crash"),
  restart: channel("restart"),
  "flow:start": channel("flow:start"),
  "flow:step:begin": channel("flow:step:begin"),
  "flow:step": channel("flow:step"),
  "flow:end": channel("flow:end"),
  "pipeline:start": channel("pipeline:start"),
  "route:begin": channel("route:begin"),
  "route:end": channel("route:end"),
  "queue:publish": channel("queue:publish"),
  "queue:begin": channel("queue:begin"),
  "queue:end": channel("queue:end"),
  mailbox: channel("mailbox"),
};
