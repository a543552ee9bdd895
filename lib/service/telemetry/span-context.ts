// Where the running code stands among the spans that are kept. It goes with asynchronous code, and with messages in a system that carries the
// contexts of senders. On a host without asynchronous contexts code stands nowhere, and only calls, messages and dispatches are joined.

import type { AsyncLocalStorage as Storage } from "node:async_hooks";
import { optionalModule } from "../../process/node-modules.js";
import type { Place } from "./span-book.js";

const { AsyncLocalStorage } = optionalModule("node:async_hooks") ?? {};

export class SpanContext {
  readonly #storage: Storage<Place | undefined> | undefined = AsyncLocalStorage && new AsyncLocalStorage();

  get here(): Place | undefined {
    return this.#storage?.getStore();
  }

  run<R>(place: Place | undefined, run: () => R): R {
    return this.#storage === undefined ? run() : this.#storage.run(place, run);
  }
}
