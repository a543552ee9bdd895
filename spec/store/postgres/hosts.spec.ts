// Several hosts on one server: they overtake each other, migrate together, hear of each other, and share it with users' SQL.

import { Client } from "pg";
import {
  ConflictError,
  defineTable,
  type PostgresOptions,
  type Schema,
  type Store,
  StoreVersionError,
} from "signalbox/store";
import { expect, it } from "vitest";
import { describePostgres } from "../../support/postgres.js";
import { sized } from "../../support/proof.js";
import { storeContext, type TestContext } from "../../support/store-context.js";
import { PostgresBench, turn } from "./bench.js";

const names = defineTable("names", { columns: { id: "text", n: "integer" }, key: ["id"] });
const schema: Schema = { name: "hosts", version: 1, tables: [names] };

describePostgres("hosts on one server", () => {
  const bench = new PostgresBench(schema);
  const place = (): string => bench.place();
  const opened = (options: PostgresOptions, context?: TestContext, of?: Schema): Promise<Store> =>
    bench.opened(bench.proxy.connection, options, context, of);

  it("read values also where the client's option `binary` asks for another format [K740]", async () => {
    const connection = { ...bench.server.connection, binary: true };
    const store = await bench.opened(connection, { schema: place() });
    await store.commit({ writes: [{ type: "put", table: names, row: { id: "a", n: 7 } }] });
    expect(await store.get(names, [["a"]])).toEqual([{ id: "a", n: 7 }]);
  });

  it("that write the same rows in other orders repeat what others overtook, and count every write [K33]", async () => {
    const at = { schema: place() };
    const stores = [await opened(at), await opened(at)];
    const ids = ["a", "b", "c", "d", "e"];
    await stores[0]?.commit({ writes: ids.map((id) => ({ type: "put", table: names, row: { id, n: 0 } })) });
    const rounds = sized(15, 0.01, 40);
    const adds = stores.flatMap((store, s) =>
      Array.from({ length: rounds }, async (_, i) => {
        const order = (s + i) % 2 === 0 ? ids : [...ids].reverse();
        await store.commit({
          expect: order.map((id) => ({ table: names, key: [id], is: "present" })),
          writes: order.map((id) => ({ type: "update", table: names, key: [id], add: { n: 1 } })),
        });
      }),
    );
    await Promise.all(adds);
    expect((await stores[1]?.scan(names, {}))?.map(({ n }) => n)).toEqual(ids.map(() => 2 * rounds));
  });

  it("that take rows get different ones, and wait for no row that another one is changing [Y2]", async () => {
    const at = { schema: place() };
    const stores = [await opened(at), await opened(at)] as const;
    const ids = Array.from({ length: 60 }, (_, i) => String.fromCharCode(65 + i));
    await stores[0].commit({ writes: ids.map((id) => ({ type: "put", table: names, row: { id, n: 0 } })) });
    const client = new Client(bench.server.connection);
    await client.connect();
    await client.query("begin");
    await client.query(`update "${at.schema}".names set n = 0 where id in ('A', 'C')`);
    const takes = stores.flatMap((store) =>
      [1, 2, 3].map(() => store.take(names, { limit: 8, where: { n: 0 }, set: { n: 1 } })),
    );
    const taken = (await Promise.all(takes)).flat().map(({ id }) => id);
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken).not.toContain("A");
    expect(taken).not.toContain("C");
    expect(taken.length).toBeGreaterThanOrEqual(24);
    await client.query("rollback");
    await client.end();
    const rest = await stores[1].take(names, { limit: 100, where: { n: 0 }, set: { n: 1 } });
    expect([...taken, ...rest.map(({ id }) => id)].sort()).toEqual(ids);
  });

  it("that each expect what the other adds to be absent are not both right [K33]", async () => {
    const at = { schema: place() };
    const stores = [await opened(at), await opened(at)];
    for (let i = 0; i < sized(10, 0.01, 25); i++) {
      const pair = [`left ${i}`, `right ${i}`] as const;
      const outcomes = await Promise.allSettled(
        stores.map((store, s) =>
          store.commit({
            expect: [{ table: names, key: [pair[s === 0 ? 1 : 0]], is: "absent" }],
            writes: [{ type: "put", table: names, row: { id: pair[s === 0 ? 0 : 1], n: i } }],
          }),
        ),
      );
      const refused = outcomes.filter((one): one is PromiseRejectedResult => one.status === "rejected");
      expect(refused.map(({ reason }) => reason instanceof ConflictError)).toEqual([true]);
    }
  });

  it("get a warning when notifications do not arrive, and look again at intervals until they do [K38]", async () => {
    bench.proxy.deaf = true;
    const context = storeContext();
    const options = {
      schema: place(),
      listenAnswerMs: 40,
      listenTestMs: 20,
      pollMs: 10,
      reconnect: { minMs: 5, maxMs: 20 },
    };
    const store = await opened(options, context);
    let looked = 0;
    const topics: string[] = [];
    store.watch("", { notified: (topic) => topics.push(topic), again: () => looked++ });
    // Watchers look again after each test that failed, and at each interval.
    while (looked < 20) await turn();
    expect(context.warnings.map(({ code }) => code)).toEqual(["store-listen"]);
    expect(context.warnings[0]?.message).toContain("LISTEN needs a session of its own");
    bench.proxy.deaf = false;
    const other = await opened({ schema: options.schema });
    while (!topics.includes("mail/1")) {
      await other.commit({ writes: [], notify: ["mail/1"] });
      await turn();
    }
  });

  it("that start together migrate one after the other, and an older one beside a newer is refused [K41]", async () => {
    const at = { schema: place() };
    const stores = await Promise.all(Array.from({ length: 4 }, () => opened(at)));
    await Promise.all(
      stores.map((store, n) =>
        store.commit({ writes: [{ type: "put", table: names, row: { id: `${n}`, n } }] }),
      ),
    );
    const more = defineTable("names", { columns: { id: "text", n: "integer", more: "text?" }, key: ["id"] });
    const newer = await opened(at, storeContext(), { name: "hosts", version: 2, tables: [more] });
    expect(await newer.count(more, {})).toBe(4);
    const older = stores[0] as Store;
    const late = older.commit({ writes: [{ type: "put", table: names, row: { id: "late", n: 1 } }] });
    await expect(late).rejects.toThrow(StoreVersionError);
    await expect(late).rejects.toMatchObject({ schema: "hosts", found: 2, known: 1 });
    await expect(older.transaction(async () => 1)).rejects.toThrow(StoreVersionError);
    await expect(opened(at)).rejects.toThrow(StoreVersionError);
    expect(await newer.count(more, {})).toBe(4);
  });

  it("run transactions of users as if each were alone, and a slow one holds up no commit [K43]", async () => {
    const store = await opened({ schema: place(), connections: 8 });
    await store.transaction((tx) => tx.execute("create table balance (n int)"));
    await store.transaction((tx) => tx.execute("insert into balance values (0)"));
    let runs = 0;
    const add = (): Promise<unknown> =>
      store.transaction(
        async (tx) => {
          runs++;
          const [row] = (await tx.execute<{ n: number }>("select n from balance")).rows;
          await tx.execute("update balance set n = $1", [(row?.n ?? 0) + 1]);
        },
        { attempts: 100, timeoutMs: 60_000 },
      );
    await Promise.all(Array.from({ length: 8 }, add));
    const read = async (): Promise<unknown> =>
      store.transaction(async (tx) => (await tx.execute("select n from balance")).rows);
    expect(await read()).toEqual([{ n: 8 }]);
    expect(runs).toBeGreaterThanOrEqual(8);
    const slow = store.transaction((tx) => tx.execute("select pg_sleep(60)"), { timeoutMs: 300 });
    await store.commit({ writes: [{ type: "put", table: names, row: { id: "beside", n: 1 } }] });
    await expect(slow).rejects.toMatchObject({ code: "ERR_STORE_TRANSACTION_TIMEOUT" });
    const failed = store.transaction(async (tx) => {
      await tx.execute("update balance set n = 100");
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect(await read()).toEqual([{ n: 8 }]);
    const busy = await bench.sql(
      "select from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()",
    );
    expect(busy).toEqual([]);
  });

  it("that overtake each other wait longer each time, until all have committed [K58]", async () => {
    const at = { schema: place() };
    const stores = [await opened(at), await opened(at)];
    await stores[0]?.transaction((tx) => tx.execute("create table counter (n int)"));
    await stores[0]?.transaction((tx) => tx.execute("insert into counter values (0)"));
    const add = (store: Store): Promise<unknown> =>
      store.transaction(async (tx) => {
        const [row] = (await tx.execute<{ n: number }>("select n from counter")).rows;
        await tx.execute("update counter set n = $1", [(row?.n ?? 0) + 1]);
      });
    const each = 20;
    await Promise.all(stores.flatMap((store) => Array.from({ length: each }, () => add(store))));
    const read = stores[1]?.transaction(async (tx) => (await tx.execute("select n from counter")).rows);
    expect(await read).toEqual([{ n: 2 * each }]);
  });

  it("refuse statements of users that end the transaction, change the session or name the store's tables [K44]", async () => {
    const at = place();
    const store = await opened({ schema: at });
    const refused = (sql: string): Promise<unknown> =>
      expect(store.transaction((tx) => tx.execute(sql))).rejects.toMatchObject({ code: "ERR_STORE_SQL" });
    for (const sql of [
      "commit",
      " /* a comment */ rollback",
      "-- a comment\ncommit",
      "set statement_timeout = 0",
      "savepoint a",
      "notify a",
      "select 1; commit",
      `delete from ${at}.names`,
      `delete from "${at}"."$claims"`,
      "",
    ])
      await refused(sql);
    const text = await store.transaction(
      async (tx) => (await tx.execute("select 'commit; set' as a, $1::text as b", ["rollback"])).rows,
    );
    expect(text).toEqual([{ a: "commit; set", b: "rollback" }]);
  });
});
