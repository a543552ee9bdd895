// A signal that crosses a simulated network arrives as a copy: pids in it are the receiver's own, and replies travel back.

import { CallMessage, CastMessage } from "../../behaviour/server/messages.js";
import { CallEvent, CastEvent } from "../../behaviour/state-machine/machine-process.js";
import { Pid } from "../../process/pid.js";
import { formatReason } from "../../process/reason.js";
import type { WireSignal } from "../../process/remote.js";
import { Request } from "../../process/request.js";
import type { System } from "../../system.js";

/** One direction between two systems. */
export interface Direction {
  readonly from: System;
  readonly to: System;
  /** Sends the reply of a call back; `settle` ends the call at the caller's system. */
  back(content: unknown, settle: (wire: Direction) => void): void;
}

/** The content of a signal, for reports. */
export function contentOf(signal: WireSignal): unknown {
  if (signal.type === "message") return signal.message;
  return signal.type === "exit" || signal.type === "down" ? formatReason(signal.reason) : undefined;
}

/** The signal as the receiver gets it. */
export function copySignal(signal: WireSignal, wire: Direction): WireSignal {
  return signal.type === "message" ? { ...signal, message: copyMessage(signal.message, wire) } : signal;
}

/** Copies plain data, as a real network does. Instances of other classes are passed on, since nothing says how to copy them. */
function copyMessage(message: unknown, wire: Direction): unknown {
  const copies = new Map<object, unknown>();
  const copy = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (copies.has(value)) return copies.get(value);
    const keep = <T>(made: T): T => {
      copies.set(value, made);
      return made;
    };
    if (value instanceof Pid) return keep(wire.to.pidAt(wire.from.address(value)));
    if (value instanceof Request) return remoteRequest(value, wire, keep, copy);
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
  return copy(message);
}

/**
 * The request as the callee in another system sees it. The callee cannot see that a caller gave up: it handles a withdrawn
 * call, and the reply is late.
 */
function remoteRequest(
  request: Request,
  wire: Direction,
  keep: (made: Request) => Request,
  copy: (value: unknown) => unknown,
): Request {
  const there = keep(Object.create(request) as Request);
  let open = true;
  Object.defineProperty(there, "open", { get: () => open });
  // The copy does not learn that the call was withdrawn at its own end.
  Object.defineProperty(there, "status", { get: () => (open ? "open" : "replied") });
  const answer = (content: unknown, settle: (wire: Direction) => void): void => {
    if (!open) return;
    open = false;
    wire.back(content, settle);
  };
  there.fulfil = (value) => answer(value, (back) => request.fulfil(copyMessage(value, back)));
  there.fail = (error) => answer(error, () => request.fail(error));
  there.message = copy(request.message);
  if (request instanceof CallMessage)
    Object.defineProperty(there, "args", { value: copy(request.args), enumerable: true });
  if (request instanceof CallEvent)
    Object.defineProperty(there, "event", { value: copy(request.event), enumerable: true });
  return there;
}
