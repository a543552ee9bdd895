// PGlite as a store: the suite for every store, and the SQL of the user. Both use one database, which takes seconds to start. In `npm test`
// the server, if there is one, stands for PGlite where only the statements matter.

import type { PGlite } from "@electric-sql/pglite";
import { defineTable, type PostgresOptions, pglite } from "signalbox/store";
import { beforeAll, expect, it } from "vitest";
import { runsOnPglite, sharedPglite } from "../../support/pglite.js";
import { proving, sized } from "../../support/proof.js";
import { storeContext } from "../../support/store-context.js";
import { conformance, type Kind, type Place } from "../conformance.js";

let database: PGlite;
beforeAll(async () => {
  database = await sharedPglite();
});

/** Each place has a schema of its own. */
let places = 0;
const schemas = new WeakMap<Place, string>();

const kind: Kind = {
  runs: sized(2, 0.001),
  async make() {
    const options: PostgresOptions = { schema: `place_${++places}` };
    const place: Place = { source: pglite(database, options), dispose: async () => undefined };
    schemas.set(place, options.schema as string);
    return place;
  },
  async advance(place, ms) {
    const schema = schemas.get(place) as string;
    // Makes all claims older, as if the clock of the database had moved on.
    await database.exec(`update "${schema}"."$claims" set expires = expires - ${ms}, ttl = ttl - ${ms}`);
  },
};
conformance("PGlite", kind, runsOnPglite(proving) ? [] : ["writes", "scans"]);

const orders = defineTable("orders", { columns: { id: "text" }, key: ["id"] });

it("a store on PGlite runs SQL of the user, which commits with a write set or not at all", async () => {
  const source = pglite(database, { schema: "with_own_sql" });
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
  await database.exec("drop table own");
  expect(() => pglite({} as never)).toThrow("database must be a PGlite");
});
