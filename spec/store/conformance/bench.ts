// What the parts of the suite have in common: the kind of store that they test, and an open store.

import type { Schema, Store, StoreSource } from "signalbox/store";
import { afterAll, beforeAll } from "vitest";
import { storeContext, type TestContext } from "../../support/store-context.js";
import { tables } from "../random-sets.js";

/** A fresh place for data, and ways to it. */
export interface Place {
  readonly source: StoreSource;
  /** Another process on the same data. Absent where one process has the store for itself. */
  readonly other?: StoreSource;
  /** Removes the data. */
  dispose(): Promise<void>;
}

/** What a kind of store is, for this suite. */
export interface Kind {
  /** Makes an empty place. */
  make(): Promise<Place>;
  /** Sets the clock of the store forward, or makes its claims that much older. Absent where claims do not expire. */
  advance?(place: Place, ms: number): Promise<void>;
  /** How many random histories are compared with the model. */
  readonly runs: number;
}

export const SCHEMA: Schema = { name: "conformance", version: 1, tables };

/** An open store in a fresh place, for the tests of one part. */
export interface Bench {
  readonly place: Place;
  readonly store: Store;
  readonly context: TestContext;
}

/** Opens a store before the tests of a part, and closes it after them. Tests share the store, and begin by emptying its tables. */
export function bench(kind: Kind, schema: Schema = SCHEMA): () => Bench {
  let one: Bench;
  beforeAll(async () => {
    const place = await kind.make();
    const context = storeContext();
    one = { place, context, store: await place.source.open([schema], context) };
  });
  afterAll(async () => {
    await one.store.close();
    await one.place.dispose();
  });
  return () => one;
}

/** Removes all rows of these tables. */
export async function empty(store: Store): Promise<void> {
  await store.commit({ writes: tables.map((table) => ({ type: "clear", table, prefix: [] })) });
}
