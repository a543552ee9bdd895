// A store whose notifications can be lost, as those of a sender that is killed between its commit and its notice.

import type { StoreSource, Watcher } from "../../../lib/store/index.js";

/** A store that loses its notifications while it is `deaf`. */
export interface Deafening {
  readonly source: StoreSource;
  deaf: boolean;
  /** Tells its watchers that notifications may have been lost. */
  again(): void;
}

export function deafening(source: StoreSource): Deafening {
  const watchers: Watcher[] = [];
  const control = {
    deaf: false,
    again: (): void => {
      for (const one of watchers) one.again();
    },
    source: {
      label: source.label,
      open: async (...given: Parameters<StoreSource["open"]>) => {
        const store = await source.open(...given);
        const watch: typeof store.watch = (prefix, watcher) => {
          watchers.push(watcher);
          const notified = (topic: string): void => void (control.deaf || watcher.notified(topic));
          return store.watch(prefix, { notified, again: () => watcher.again() });
        };
        return new Proxy(store, {
          get: (target, name) => {
            const value: unknown = name === "watch" ? watch : Reflect.get(target, name, target);
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
    },
  };
  return control;
}
