// Node's equality, and Node's text for a value.

import { inspect, isDeepStrictEqual } from "node:util";

/** Structural equality, like `assert.deepStrictEqual`. */
export function deepEqual(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

/** A readable text for a value, short enough for an error message. */
export function inspectValue(value: unknown): string {
  return inspect(value, { depth: 4, breakLength: 100, maxArrayLength: 20, maxStringLength: 200 });
}
