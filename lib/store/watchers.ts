// Who is notified of which topics, in this process.

import type { Watcher } from "./store.js";

interface Watch {
  readonly prefix: string;
  readonly watcher: Watcher;
}

export class Watchers {
  #watches: readonly Watch[] = [];

  /** Returns the call that ends it. */
  add(prefix: string, watcher: Watcher): () => void {
    const watch: Watch = { prefix, watcher };
    this.#watches = [...this.#watches, watch];
    return () => {
      this.#watches = this.#watches.filter((one) => one !== watch);
    };
  }

  notified(topic: string): void {
    for (const { prefix, watcher } of this.#watches) if (topic.startsWith(prefix)) watcher.notified(topic);
  }

  again(): void {
    for (const { watcher } of this.#watches) watcher.again();
  }
}
