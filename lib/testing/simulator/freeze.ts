// Messages made immutable on their way, so that two processes that share a mutable object are found: the one that
// writes to it throws.

import { CallMessage, CastMessage } from "../../behaviour/server-process.js";
import { Delivery } from "../../dispatch/delivery.js";
import { Request } from "../../process/request.js";

/** Freezes what a message carries: plain objects and arrays, all the way down. Instances of classes are left alone. */
export function freeze(item: unknown): void {
  if (item instanceof CallMessage || item instanceof CastMessage) deepFreeze(item.args, new Set());
  else if (item instanceof Request) deepFreeze(item.message, new Set());
  else if (item instanceof Delivery) deepFreeze(item.envelope.payload, new Set());
  else deepFreeze(item, new Set());
}

/** What is frozen itself may hold what is not: that it was met is no reason to stop, only that it was met here. */
function deepFreeze(value: unknown, met: Set<object>): void {
  if (typeof value !== "object" || value === null || met.has(value)) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return;
  met.add(value);
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner, met);
}
