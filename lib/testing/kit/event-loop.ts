// The host's event loop, as the test kit and the simulator use it.

import { setImmediate } from "node:timers";

// Captured at import: a test runner replaces the timers of the global object or the module later.
const immediate = setImmediate;
const settled = Promise.resolve();

/** Runs `fn` as a microtask. */
export function soon(fn: () => void): void {
  void settled.then(fn);
}

/** Runs `fn` as a macrotask, after all microtasks and rejections of the current one. */
export function later(fn: () => void): void {
  immediate(fn);
}
