// The watchers of each topic in this process.

import { showThrown } from "../process/show.js";
import type { Watcher } from "./store.js";

interface Watch {
  readonly prefix: string;
  readonly watcher: Watcher;
}

export class Watchers {
  readonly #warn: (message: string) => void;
  #watches: readonly Watch[] = [];

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** Returns the call that ends it. */
  add(prefix: string, watcher: Watcher): () => void {
    const watch: Watch = { prefix, watcher };
    this.#watches = [...this.#watches, watch];
    return () => {
      this.#watches = this.#watches.filter((one) => one !== watch);
    };
  }

  notified(topic: string): void {
    for (const { prefix, watcher } of this.#watches)
      if (topic.startsWith(prefix)) this.#call(() => watcher.notified(topic));
  }

  again(): void {
    for (const { watcher } of this.#watches) this.#call(() => watcher.again());
  }

  /** A watcher that throws must not keep the others from their notification, nor the store from its next group. */
  #call(notify: () => void): void {
    try {
      notify();
    } catch (thrown) {
      this.#warn(`a watcher threw: ${showThrown(thrown)}`);
    }
  }
}
