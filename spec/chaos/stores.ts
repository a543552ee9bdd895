// Stores that survive their process, for programs that are killed.

import { postgres, type StoreSource, sqlite } from "signalbox/store";

/** A store that survives its process. */
export type StorePlace =
  | { readonly type: "sqlite"; readonly path: string }
  | { readonly type: "postgres"; readonly url: string };

/** @param leaseMs - how long a host on a server holds its flows without renewal. Undefined: as long as by default. */
export function storeAt(place: StorePlace, leaseMs?: number): StoreSource {
  if (place.type === "sqlite") return sqlite(place.path);
  return postgres(place.url, leaseMs === undefined ? {} : { leaseMs });
}
