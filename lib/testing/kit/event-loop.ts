// The host's event loop, as the test kit and the simulator use it.

import { setImmediate } from "node:timers";

// Taken once: a test runner that fakes the timers does so later, and on the global object or the module.
const immediate = setImmediate;
const settled = Promise.resolve();

/** Runs `fn` as a microtask. */
export function soon(fn: () => void): void {
  void settled.then(fn);
}

/** Runs `fn` as a macrotask, after the microtasks and rejections of this one. */
export function later(fn: () => void): void {
  immediate(fn);
}
