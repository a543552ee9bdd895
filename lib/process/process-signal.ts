// The AbortSignal of a process. Its listeners run inside the code that ends the process, and Node throws the error of a listener
// at the host. Here each listener runs as code of the process that ends, and its error or rejection is a late error of that process.

import { optionalModule } from "./node-modules.js";

type Callback = (event: Event) => unknown;
type Listener = Callback | { handleEvent: Callback };
type Options = Parameters<EventTarget["addEventListener"]>[2];

/** @param run - runs a listener as code of the process */
export function processSignal(run: (listener: () => void) => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  // The number of listeners needs no limit: the listeners go with the process.
  optionalModule("node:events")?.setMaxListeners?.(0, signal);
  const made = new WeakMap<Listener, Callback>();
  /** The same for the same listener: the signal knows by that what was added twice, and what to remove. */
  const guarded = (listener: Listener | null): Callback | null => {
    // Node itself refuses a value that is no listener.
    if (typeof listener !== "function" && (typeof listener !== "object" || listener === null))
      return listener;
    const known = made.get(listener);
    if (known !== undefined) return known;
    // Nothing is returned: Node throws the rejection of a returned promise at the host.
    const guard: Callback = (event) =>
      run(() => {
        if (typeof listener === "function") listener.call(signal, event);
        else listener.handleEvent(event);
      });
    made.set(listener, guard);
    return guard;
  };
  const { addEventListener, removeEventListener } = signal;
  const native = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "onabort");
  let onabort: Listener | null = null;
  Object.defineProperties(signal, {
    addEventListener: {
      value: (type: string, listener: Listener, options?: Options): void =>
        addEventListener.call(signal, type, guarded(listener) as Callback, options),
    },
    removeEventListener: {
      value: (type: string, listener: Listener, options?: Options): void =>
        removeEventListener.call(signal, type, guarded(listener) as Callback, options),
    },
    onabort: {
      get: () => onabort,
      set: (listener: Listener | null) => {
        onabort = listener;
        native?.set?.call(signal, guarded(listener));
      },
    },
  });
  return controller;
}
