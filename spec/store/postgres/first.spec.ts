import { PGlite } from "@electric-sql/pglite";
import { defineTable, type Schema, type StoreContext, type StoreSource } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { production } from "../../../lib/process/production.js";
import { pglite, postgres } from "../../../lib/store/postgres/index.js";
import { describePostgres, startPostgres } from "../../support/postgres.js";

const orders = defineTable("orders", {
  columns: { id: "text", total: "real", due: "integer?", data: "payload?" },
  key: ["id"],
  indexes: { due: ["due"] },
});
const log = defineTable("log", {
  columns: { pos: "integer", flow: "text", data: "payload" },
  key: ["pos"],
  counted: "pos",
  indexes: { flow: ["flow"] },
});
const schema: Schema = { name: "shop", version: 1, tables: [orders, log] };
const context: StoreContext = {
  environment: production,
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  },
  warn: () => undefined,
};

async function works(source: StoreSource): Promise<void> {
  await using store = await source.open([schema], context);
  const row = { id: "a", total: 1.5, due: null, data: new Uint8Array([1, 2]) };
  const first = await store.commit({
    writes: [
      { type: "insert", table: orders, row },
      { type: "insert", table: log, row: { flow: "f", data: "x" } },
    ],
  });
  expect(first.results).toEqual([1, 1]);
  expect(await store.get(orders, [["b"], ["a"]])).toEqual([undefined, row]);
  const claim = await store.claim("h", { owner: "me" });
  if (claim === undefined) throw new Error("the claim is free");
  expect(await store.claims("")).toEqual([{ name: "h", token: claim.token, owner: "me", held: true }]);
  expect(await store.claim("h", { owner: "you" })).toBeUndefined();
  const second = await store.commit({
    claim,
    writes: [
      { type: "insert", table: log, row: { flow: "f", data: "y" } },
      { type: "update", table: orders, key: ["a"], set: { due: 5 }, add: { total: 1 } },
    ],
  });
  expect(second.results).toEqual([2, 1]);
  expect(await store.scan(log, { index: "flow", prefix: ["f"], reverse: true, limit: 1 })).toEqual([
    { pos: 2, flow: "f", data: "y" },
  ]);
  const rows = await store.transaction(
    async (tx) => {
      await tx.execute("create table t (n int)");
      await tx.execute("insert into t values ($1)", [7]);
      await expect(tx.execute("bad")).rejects.toMatchObject({ code: "ERR_STORE_SQL", result: "42601" });
      return (await tx.execute("select n, true as b, '\\x01'::bytea as c from t")).rows;
    },
    { attach: () => ({ writes: [{ type: "delete", table: orders, key: ["a"] }] }) },
  );
  expect(rows).toEqual([{ n: 7, b: true, c: new Uint8Array([1]) }]);
  expect(await store.get(orders, [["a"]])).toEqual([undefined]);
}

describePostgres("a store on a PostgreSQL server", () => {
  it("reads what it has written, holds claims, and runs SQL that commits with a write set", async () => {
    await using server = await startPostgres();
    await works(postgres(server.connection));
  });
});

describe("a store on PGlite", () => {
  it("reads what it has written, holds claims, and runs SQL that commits with a write set", async () => {
    const database = new PGlite();
    await works(pglite(database));
    await database.close();
  });
});
