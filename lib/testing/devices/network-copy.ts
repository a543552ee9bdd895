// What crosses a simulated network: a copy, in which pids are the receiver's own, and replies travel back.

import { CallMessage, CastMessage } from "../../behaviour/server-process.js";
import { Pid } from "../../process/pid.js";
import { formatReason } from "../../process/reason.js";
import type { WireSignal } from "../../process/remote.js";
import { Request } from "../../process/request.js";
import type { System } from "../../system.js";

/** One direction between two systems. */
export interface Direction {
  readonly from: System;
  readonly to: System;
  /** Sends the reply to a call back: `settle` ends the call, over there. */
  back(content: unknown, settle: (wire: Direction) => void): void;
}

/** The signal, as what it is to people. */
export function contentOf(signal: WireSignal): unknown {
  if (signal.type === "message") return signal.message;
  return signal.type === "exit" || signal.type === "down" ? formatReason(signal.reason) : undefined;
}

/** The signal as the receiver sees it. */
export function copySignal(signal: WireSignal, wire: Direction): WireSignal {
  return signal.type === "message" ? { ...signal, message: copyMessage(signal.message, wire) } : signal;
}

/** Plain data is copied, as a real network does; instances of classes are not: nobody knows how. */
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
 * The request as its callee in another system sees it. That the caller does not wait any more is not known there: a
 * withdrawn call is handled, and its reply comes too late.
 */
function remoteRequest(
  request: Request,
  wire: Direction,
  keep: (made: Request) => Request,
  copy: (value: unknown) => unknown,
): Request {
  const there = keep(Object.create(request) as Request);
  there.open = true;
  const answer = (content: unknown, settle: (wire: Direction) => void): void => {
    if (!there.open) return;
    there.open = false;
    wire.back(content, settle);
  };
  there.fulfil = (value) => answer(value, (back) => request.fulfil(copyMessage(value, back)));
  there.fail = (error) => answer(error, () => request.fail(error));
  there.message = copy(request.message);
  if (request instanceof CallMessage)
    Object.defineProperty(there, "args", { value: copy(request.args), enumerable: true });
  return there;
}
