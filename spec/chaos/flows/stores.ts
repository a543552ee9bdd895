// The stores of a kill test, and the bookings that flows make in them.

import { System } from "signalbox";
import {
  openStore,
  postgres,
  type SqlTransaction,
  type Store,
  type StoreSource,
  sqlite,
} from "signalbox/store";
import type { StorePlace } from "./plan.js";

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

/** The user's own table, in the store's own database. */
const TABLE = "create table if not exists bookings (flow text not null, step text not null)";

/** One booking of a flow. Two with the same names can be told from one. */
export async function book(tx: SqlTransaction, flow: string, step: string): Promise<void> {
  await tx.execute(TABLE);
  // Names are words of this test: no statement has to be written twice for the two kinds of parameters.
  await tx.execute(`insert into bookings values ('${flow}', '${step}')`);
}

/** How often each booking is there, by `flow step`. Opens the store by itself: no host may hold a SQLite file meanwhile. */
export async function bookingsOf(place: StorePlace): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const system = new System({ report: false });
  const store = await openStore(system, storeAt(place), []);
  try {
    const { rows } = await store.transaction(async (tx) => {
      await tx.execute(TABLE);
      return tx.execute<{ flow: string; step: string }>("select flow, step from bookings");
    });
    for (const { flow, step } of rows)
      counts.set(`${flow} ${step}`, (counts.get(`${flow} ${step}`) ?? 0) + 1);
  } finally {
    await store.close();
    await system.stop();
  }
  return counts;
}
