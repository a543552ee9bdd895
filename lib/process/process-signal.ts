// The AbortSignal of a process. Its listeners run inside whoever ends the process, and Node throws what a listener throws
// at the host: here each is code of the process that ends, and what it throws or rejects is that process's late error.

import { optionalModule } from "./node-modules.js";

type Callback = (event: Event) => unknown;
type Listener = Callback | { handleEvent: Callback };
type Options = Parameters<EventTarget["addEventListener"]>[2];

/** @param run - runs a listener as code of the process */
export function processSignal(run: (listener: () => void) => void): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  // Whoever listens needs no count: the listeners go with the process.
  optionalModule("node:events")?.setMaxListeners?.(0, signal);
  const made = new WeakMap<Listener, Callback>();
  /** The same for the same listener: the signal knows by that what was added twice, and what to remove. */
  const guarded = (listener: Listener | null): Callback | null => {
    // Node has its own answer to what is no listener.
    if (typeof listener !== "function" && (typeof listener !== "object" || listener === null))
      return listener;
    const known = made.get(listener);
    if (known !== undefined) return known;
    // Nothing is returned: Node throws at the host what a promise returned here rejects with.
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
