// The answer to the exercise of docs/course/10-exactly-once.md: a till whose charges survive everything, each once.

import type { System } from "signalbox";
import { defineTable, openStore, type StoreSource, transact } from "signalbox/store";
import { KeyReusedError } from "./09-at-least-once.js";

const charges = defineTable("charges", {
  columns: { key: "text", cents: "integer", receipt: "text" },
  key: ["key"],
});
const tills = defineTable("tills", {
  columns: { till: "text", total: "integer", receipts: "integer" },
  key: ["till"],
});

/** A till whose money and receipts are rows of one store. */
export interface DurableTill {
  /** Takes money, once for each key. Rejects with {@link KeyReusedError} if the key came with another amount. */
  charge(key: string, cents: number): Promise<string>;
  total(): Promise<number>;
  close(): Promise<void>;
}

/** @param source - of the store: `memory()`, `sqlite("till.db")` */
export async function openTill(system: System, source: StoreSource): Promise<DurableTill> {
  const store = await openStore(system, source, [{ name: "till", version: 1, tables: [charges, tills] }]);
  return {
    charge: (key, cents) =>
      transact(store, async (tx) => {
        const known = await tx.get(charges, [key]);
        if (known !== undefined) {
          if (known.cents === cents) return known.receipt;
          throw new KeyReusedError(`${key} was charged with ${known.cents} cents, not ${cents}`);
        }
        const till = (await tx.get(tills, ["front"])) ?? { total: 0, receipts: 0 };
        const receipts = till.receipts + 1;
        const receipt = `receipt ${receipts}: ${cents}`;
        // The effect and the note that it is done: both are there, or neither.
        tx.put(tills, { till: "front", total: till.total + cents, receipts });
        tx.insert(charges, { key, cents, receipt });
        return receipt;
      }),
    total: async () => (await store.get(tills, [["front"]]))[0]?.total ?? 0,
    close: () => store.close(),
  };
}
