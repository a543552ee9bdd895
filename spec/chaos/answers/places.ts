// Stores of the drills of answers: each drill has one of its own.

import { postgres, type StoreSource, sqlite } from "signalbox/store";

export type AnswerPlace =
  | { readonly type: "sqlite"; readonly path: string }
  | { readonly type: "postgres"; readonly url: string; readonly schema: string };

/** The next host waits so long for what the killed one held on a server, in milliseconds. */
const LEASE_MS = 1_000;

export function storeOf(place: AnswerPlace): StoreSource {
  if (place.type === "sqlite") return sqlite(place.path);
  return postgres(place.url, { schema: place.schema, leaseMs: LEASE_MS });
}
