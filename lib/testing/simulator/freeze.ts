// Makes messages immutable when they are sent. If two processes share a mutable object, the one that writes to it throws.

import { CallMessage, CastMessage } from "../../behaviour/server/messages.js";
import { Delivery } from "../../dispatch/delivery.js";
import { Request } from "../../process/request.js";

/** Freezes the content of a message: plain objects and arrays, deeply. Instances of other classes stay mutable. */
export function freeze(item: unknown): void {
  deepFreeze(contentOf(item), new Set());
}

/** What a message carries. */
export function contentOf(item: unknown): unknown {
  if (item instanceof CallMessage || item instanceof CastMessage) return item.args;
  if (item instanceof Request) return item.message;
  return item instanceof Delivery ? item.envelope.payload : item;
}

/** A frozen object may contain mutable ones, so recursion stops only at objects that this call has visited. */
function deepFreeze(value: unknown, met: Set<object>): void {
  if (typeof value !== "object" || value === null || met.has(value)) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return;
  met.add(value);
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner, met);
}
