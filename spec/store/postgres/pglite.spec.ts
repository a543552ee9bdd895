import { PGlite } from "@electric-sql/pglite";
import { defineTable, pglite } from "signalbox/store";
import { expect, it } from "vitest";
import { storeContext } from "../../support/store-context.js";

const orders = defineTable("orders", { columns: { id: "text" }, key: ["id"] });

it("a store on PGlite runs SQL of the user, which commits with a write set or not at all", async () => {
  const database = await PGlite.create();
  const source = pglite(database);
  const store = await source.open([{ name: "shop", version: 1, tables: [orders] }], storeContext());
  const attach = () => ({ writes: [{ type: "insert" as const, table: orders, row: { id: "a" } }] });
  const rows = await store.transaction(
    async (tx) => {
      await tx.execute("create table own (n int)");
      expect((await tx.execute("insert into own values ($1)", [7])).changes).toBe(1);
      await expect(tx.execute("bad")).rejects.toMatchObject({ code: "ERR_STORE_SQL", result: "42601" });
      return (await tx.execute("select n, true as b, '\\x01'::bytea as c from own")).rows;
    },
    { attach },
  );
  expect(rows).toEqual([{ n: 7, b: true, c: new Uint8Array([1]) }]);
  // The row of the write set is there already, so nothing of this transaction is.
  const again = store.transaction((tx) => tx.execute("insert into own values (8)"), { attach });
  await expect(again).rejects.toMatchObject({ code: "ERR_STORE_CONFLICT" });
  const own = await store.transaction(async (tx) => (await tx.execute("select n from own")).rows);
  expect(own).toEqual([{ n: 7 }]);
  expect(await store.get(orders, [["a"]])).toEqual([{ id: "a" }]);
  await store.close();
  await database.close();
  expect(() => pglite({} as never)).toThrow("database must be a PGlite");
});
