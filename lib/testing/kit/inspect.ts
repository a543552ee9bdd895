// Node's own idea of equality, and of a value as text.

import { inspect, isDeepStrictEqual } from "node:util";

/** Structural equality, as `assert.deepStrictEqual` sees it. */
export function deepEqual(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

/** A value as a person reads it, of a length that an error text can bear. */
export function inspectValue(value: unknown): string {
  return inspect(value, { depth: 4, breakLength: 100, maxArrayLength: 20, maxStringLength: 200 });
}
