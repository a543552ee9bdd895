// Page 07 of the course, state: seats that survive a crash, and are never given twice.

import { defineServer, refuse, System, supervisor } from "signalbox";
import { defineTable, memory, openStore, type StoreSource } from "signalbox/store";

const seats = defineTable("seats", {
  columns: { customer: "text", seat: "integer" },
  key: ["customer"], // one seat for a customer
  indexes: { seat: ["seat"] },
  unique: ["seat"], // one customer on a seat
});

export class FullError extends Error {}

/** The seats of a running shop. A call rejects when the server crashes; then ask again. */
export interface Seats {
  /** Returns the number of a seat, from 1; the same one to a customer who sits. Rejects with {@link FullError}. */
  sit(customer: string): Promise<number>;
  leave(customer: string): Promise<void>;
  /** Who sits where, as the store has it. */
  rows(): Promise<readonly { readonly customer: string; readonly seat: number }[]>;
  close(): Promise<void>;
}

/** @param source - of the store: `memory()`, `sqlite("shop.db")` */
export async function openSeats(system: System, source: StoreSource, count: number): Promise<Seats> {
  const store = await openStore(system, source, [{ name: "shop", version: 1, tables: [seats] }]);
  const all = Array.from({ length: count }, (_, i) => i + 1);
  const Server = defineServer({
    init: async () => {
      const rows = await store.scan(seats, {});
      return { taken: new Map(rows.map(({ customer, seat }) => [customer, seat])) };
    },
    calls: {
      sit: async ({ taken }, customer: string) => {
        const before = taken.get(customer);
        if (before !== undefined) return before;
        const used = new Set(taken.values());
        const seat = all.find((one) => !used.has(one));
        if (seat === undefined) return refuse(new FullError("all seats are taken"));
        // A ConflictError says that the map is wrong. It is not caught: the next init reads the table.
        await store.commit({ writes: [{ type: "insert", table: seats, row: { customer, seat } }] });
        taken.set(customer, seat);
        return seat;
      },
      leave: async ({ taken }, customer: string) => {
        await store.commit({ writes: [{ type: "delete", table: seats, key: [customer] }] });
        taken.delete(customer);
      },
    },
  });
  await system.start(
    supervisor({ intensity: 10, children: [{ id: "seats", start: Server, name: "seats" }] }),
  );
  const { call } = Server.at(system, "seats");
  return {
    sit: (customer) => call.sit(customer),
    leave: (customer) => call.leave(customer),
    rows: () => store.scan(seats, {}),
    close: () => store.close(),
  };
}

if (import.meta.filename === process.argv[1]) {
  await using system = new System({ name: "tea", report: false });
  const shop = await openSeats(system, memory(), 2);
  console.log("ada:", await shop.sit("ada"), "bob:", await shop.sit("bob"));
  system.exit("seats", "kill");
  await system.idle(); // until then there is nobody to ask
  console.log("ada again:", await shop.sit("ada"));
  await shop.sit("cy").catch((error: Error) => console.log("cy:", error.message));
  await shop.leave("ada");
  console.log("cy:", await shop.sit("cy"));
  await shop.close();
}
