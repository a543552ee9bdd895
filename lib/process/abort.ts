// Waiting on AbortSignals: one listener on each signal, however many calls, receives and dispatches wait on it. Node warns
// of a leak at the eleventh listener, and looks through all of them to remove one.

import { exclude, include, members, type OneOrMany } from "./one-or-many.js";

/** Something that an AbortSignal ends. Must not throw. */
export interface Abortable {
  aborted(reason: unknown): void;
}

class Waiters {
  all: OneOrMany<Abortable> = undefined;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Called by the signal. */
  handleEvent(): void {
    const { all } = this;
    const signal = this.#signal;
    bySignal.delete(signal);
    for (const one of members(all)) one.aborted(signal.reason);
  }
}

const bySignal = new WeakMap<AbortSignal, Waiters>();

/** Calls `fn` once when the signal is aborted; at once, if it was before: a listener that comes too late is never called. */
export function whenAborted(signal: AbortSignal, fn: () => void): void {
  if (signal.aborted) fn();
  else signal.addEventListener("abort", fn, { once: true });
}

/** Calls `aborted` once when the signal is aborted, in the order in which they began to wait. */
export function watchAbort(signal: AbortSignal, one: Abortable): void {
  let waiters = bySignal.get(signal);
  if (waiters === undefined) {
    waiters = new Waiters(signal);
    bySignal.set(signal, waiters);
    signal.addEventListener("abort", waiters, { once: true });
  }
  waiters.all = include(waiters.all, one);
}

/** Waits no more. The signal is let go of with the last one. */
export function unwatchAbort(signal: AbortSignal, one: Abortable): void {
  const waiters = bySignal.get(signal);
  if (waiters === undefined) return;
  waiters.all = exclude(waiters.all, one);
  if (waiters.all !== undefined) return;
  bySignal.delete(signal);
  signal.removeEventListener("abort", waiters);
}
