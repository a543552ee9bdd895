// A signal that crosses a simulated network arrives as a copy: pids in it are the receiver's own, and replies travel back.

import { CastMessage } from "../../behaviour/server/messages.js";
import { CastEvent } from "../../behaviour/state-machine/machine-process.js";
import { Pid } from "../../process/pid.js";
import { formatReason } from "../../process/reason.js";
import { Request, replyAddress, requestOf } from "../../process/request.js";
import type { WireSignal } from "../../process/wire-signal.js";
import type { System } from "../../system.js";

/** One direction between two systems. */
export interface Direction {
  readonly from: System;
  readonly to: System;
}

/** The content of a signal, for reports. */
export function contentOf(signal: WireSignal): unknown {
  switch (signal.type) {
    case "message":
    case "call":
      return signal.message;
    case "reply": {
      const { outcome } = signal;
      if ("exited" in outcome) return formatReason(outcome.exited);
      return outcome.ok ? outcome.value : outcome.error;
    }
    case "exit":
    case "down":
      return formatReason(signal.reason);
    default:
      return undefined;
  }
}

/** The signal as the receiver gets it. */
export function copySignal(signal: WireSignal, wire: Direction): WireSignal {
  switch (signal.type) {
    case "message":
      return { ...signal, message: copier(wire)(signal.message) };
    case "call": {
      const copy = copier(wire);
      const replyTo = copy(signal.replyTo) as typeof signal.replyTo;
      return { ...signal, replyTo, message: copy(signal.message) };
    }
    case "reply": {
      const { outcome } = signal;
      if (!("ok" in outcome && outcome.ok)) return signal;
      return { ...signal, outcome: { ok: true, value: copier(wire)(outcome.value) } };
    }
    default:
      return signal;
  }
}

/** Copies plain data, as a real network does. Instances of other classes are passed on, since nothing says how to copy them. */
function copier(wire: Direction): (message: unknown) => unknown {
  const copies = new Map<object, unknown>();
  const copy = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (copies.has(value)) return copies.get(value);
    const keep = <T>(made: T): T => {
      copies.set(value, made);
      return made;
    };
    if (value instanceof Pid) return keep(wire.to.pidAt(wire.from.address(value)));
    if (value instanceof Request) return copyRequest(value, wire, keep, copy);
    if (value instanceof CastMessage)
      return keep(new CastMessage(value.method, copy(value.args) as unknown[]));
    if (value instanceof CastEvent) return keep(new CastEvent(copy(value.event) as CastEvent["event"]));
    if (Array.isArray(value)) {
      const items: unknown[] = keep([]);
      for (const item of value) items.push(copy(item));
      return items;
    }
    if (value instanceof Map) {
      const entries: Map<unknown, unknown> = keep(new Map());
      for (const [key, item] of value) entries.set(copy(key), copy(item));
      return entries;
    }
    if (value instanceof Set) {
      const members: Set<unknown> = keep(new Set());
      for (const item of value) members.add(copy(item));
      return members;
    }
    if (Object.getPrototypeOf(value) !== Object.prototype) return value;
    const fields: Record<string, unknown> = keep({});
    for (const [key, inner] of Object.entries(value)) fields[key] = copy(inner);
    return fields;
  };
  return copy;
}

/** A request, which is a reply address, as another system sees it. The calls of servers and state machines carry more. */
function copyRequest(
  request: Request,
  wire: Direction,
  keep: (made: Request) => Request,
  copy: (value: unknown) => unknown,
): Request {
  const address = wire.from.replyAddress(replyAddress(request));
  if (address.node.id === wire.to.node.id) return keep(requestOf(wire.to.replyAt(address)));
  const made: Request = Object.setPrototypeOf(new Request(), Object.getPrototypeOf(request));
  const there = keep(wire.to.kernel.remote.adopt(made, address));
  for (const [key, value] of Object.entries(request))
    if (!(key in PLAIN)) Object.assign(there, { [key]: copy(value) });
  if (request.message === request) there.message = there;
  return there;
}

const PLAIN = new Request();
