// Which process made this promise: V8's promise hooks mark each promise with the process whose code is running, and
// restore that process when the promise's continuation runs. A rejection nobody handled then finds its owner, also
// after awaits. Costs synchronous code nothing and an await some 20 ns; AsyncLocalStorage cost three times as much.

import { type HookCallbacks, promiseHooks } from "node:v8";

const OWNER: unique symbol = Symbol("signalbox.owner");

interface Marked {
  [OWNER]?: object;
}

/**
 * Whose code is running now. An activation costs nothing here: the scheduler at work knows which process it runs, and
 * is asked only when a promise is made. `current` is for code that runs outside an activation: continuations, timers.
 */
export const origin: {
  current: object | undefined;
  scheduler: { readonly running: object | undefined } | undefined;
} = {
  current: undefined,
  scheduler: undefined,
};

/** Runs code of the host that is called from within a turn: what it makes is no process's. */
export function outside<T>(fn: () => T): T {
  const { current, scheduler } = origin;
  origin.current = undefined;
  origin.scheduler = undefined;
  try {
    return fn();
  } finally {
    origin.current = current;
    origin.scheduler = scheduler;
  }
}

let watchers = 0;
let uninstall: (() => void) | undefined;

/** The process that made `promise`, if one did. */
export function ownerOf(promise: Promise<unknown>): object | undefined {
  return (promise as Marked)[OWNER];
}

/** Starts marking promises; counted, so that several systems may ask. Returns the call that ends it. */
export function markPromises(): () => void {
  if (watchers++ === 0) {
    const hooks: Partial<HookCallbacks> = {
      init(promise) {
        const owner = origin.current ?? origin.scheduler?.running;
        if (owner !== undefined) (promise as Marked)[OWNER] = owner;
      },
      before(promise) {
        origin.current = (promise as Marked)[OWNER];
      },
      after() {
        origin.current = undefined;
      },
    };
    uninstall = promiseHooks.createHook(hooks as HookCallbacks) as () => void;
  }
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    if (--watchers === 0) {
      uninstall?.();
      uninstall = undefined;
      origin.current = undefined;
    }
  };
}
