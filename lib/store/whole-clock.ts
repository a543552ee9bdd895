// The clock of a store as columns hold times.

import type { Store } from "./store.js";

/** Milliseconds since 1970 by the clock of the store, without the fraction that a server may give: columns hold whole numbers. */
export async function wholeClock(store: Pick<Store, "clock">): Promise<number> {
  return Math.floor(await store.clock());
}
