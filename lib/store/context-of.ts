// The surroundings in which a store was opened, for what works with a store and has to wait.

import type { Store, StoreContext } from "./store.js";

const contexts = new WeakMap<Store, Pick<StoreContext, "environment" | "after">>();

export function setContextOf(store: Store, context: Pick<StoreContext, "environment" | "after">): void {
  contexts.set(store, context);
}

/** Undefined for a store that is not of this library. */
export function contextOf(store: Store): Pick<StoreContext, "environment" | "after"> | undefined {
  return contexts.get(store);
}
