// Stores that survive their process, for programs that are killed.

import { postgres, type Store, type StoreSource, sqlite } from "signalbox/store";

/** A store that survives its process. */
export type StorePlace =
  | { readonly type: "sqlite"; readonly path: string }
  | { readonly type: "postgres"; readonly url: string };

export function storeAt(place: StorePlace): StoreSource {
  return place.type === "sqlite" ? sqlite(place.path) : postgres(place.url);
}

/** The store, whose claims hold for this long without renewal. Undefined: as long as they do by default. */
export function withLease(source: StoreSource, ttlMs: number | undefined): StoreSource {
  if (ttlMs === undefined) return source;
  return {
    label: source.label,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      const claim: Store["claim"] = (name, options) => store.claim(name, { ...options, ttlMs });
      return new Proxy(store, {
        get: (target, name) => {
          const value: unknown = name === "claim" ? claim : Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}
