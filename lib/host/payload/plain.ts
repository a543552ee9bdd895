// Plain JSON: values that JSON.stringify and JSON.parse give back unchanged. Nearly all results of steps are, so this walk is
// short: it says yes or no, and survey.ts finds out why not.

import { MAX_DEPTH } from "./limits.js";

/** Up to this many objects are compared one by one; a Set costs more than the comparisons. */
const FEW = 16;

/**
 * The objects met in the present walk, which is synchronous. An object met twice is shared or cyclic, and JSON would copy it. The list keeps
 * its length: an empty one would be allocated again in each walk.
 */
const met: (object | undefined)[] = [];
let metCount = 0;
let metMany: Set<object | undefined> | undefined;

/** Whether JSON gives the value back unchanged. Never throws. */
export function isPlainJson(value: unknown): boolean {
  try {
    return isPlain(value, 0);
  } catch {
    return false; // A getter or Proxy threw.
  } finally {
    met.fill(undefined, 0, metCount);
    metCount = 0;
    metMany = undefined;
  }
}

function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      // Not NaN, Infinity or -0.
      return value === 0 ? 1 / value > 0 : value - value === 0;
    case "object":
      if (value === null) return true;
      return depth < MAX_DEPTH && isNew(value) && hasPlainMembers(value, depth + 1);
    default:
      return false;
  }
}

function isNew(value: object): boolean {
  if (metMany === undefined) {
    for (let i = 0; i < metCount; i++) if (met[i] === value) return false;
    met[metCount++] = value;
    if (metCount > FEW) metMany = new Set(met);
    return true;
  }
  return metMany.size !== metMany.add(value).size;
}

function hasPlainMembers(value: object, depth: number): boolean {
  // Enumerable symbols would be lost; `arguments` and namespaces such as Math have hidden ones.
  if (Object.getOwnPropertySymbols(value).length > 0) return false;
  if ((value as { toJSON?: unknown }).toJSON !== undefined) return false;
  const prototype = Object.getPrototypeOf(value);
  const keys = Object.keys(value);
  if (Array.isArray(value)) {
    // Holes make fewer keys, names more; of both at once, the hole reads as undefined.
    if (prototype !== Array.prototype || keys.length !== value.length) return false;
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], depth)) return false;
    return true;
  }
  if (prototype !== Object.prototype) return false;
  for (let i = 0; i < keys.length; i++)
    if (!isPlain((value as Record<string, unknown>)[keys[i] as string], depth)) return false;
  return true;
}
