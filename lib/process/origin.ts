// Which process made this promise: V8's promise hooks mark each promise with the process whose code is running, and
// restore that process when the promise's continuation runs. A rejection nobody handled then finds its owner, also
// after awaits. Costs synchronous code nothing and an await some 20 ns; AsyncLocalStorage cost three times as much.

import { promiseHooks } from "node:v8";

const OWNER: unique symbol = Symbol("signalbox.owner");

interface Marked {
  [OWNER]?: object;
}

/** The process whose code is running now, in one mutable place that activations write to. */
export const origin: { current: object | undefined } = { current: undefined };

let watchers = 0;
let uninstall: (() => void) | undefined;

/** The process that made `promise`, if one did. */
export function ownerOf(promise: Promise<unknown>): object | undefined {
  return (promise as Marked)[OWNER];
}

/** Starts marking promises; counted, so that several systems may ask. Returns the call that ends it. */
export function markPromises(): () => void {
  if (watchers++ === 0) {
    uninstall = promiseHooks.createHook({
      init(promise) {
        if (origin.current !== undefined) (promise as Marked)[OWNER] = origin.current;
      },
      before(promise) {
        origin.current = (promise as Marked)[OWNER];
      },
      after() {
        origin.current = undefined;
      },
      settled() {},
    }) as () => void;
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
