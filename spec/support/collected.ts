// Tells whether an object can still be reached.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Runs the garbage collector, and tells how many of these are left. Weak references hold until a macrotask has passed. */
export async function left(refs: readonly WeakRef<object>[]): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}
