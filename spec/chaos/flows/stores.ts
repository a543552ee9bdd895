// The bookings that flows make in the store of a kill test.

import { System } from "signalbox";
import { openStore, type SqlTransaction } from "signalbox/store";
import { type StorePlace, storeAt } from "../stores.js";

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
