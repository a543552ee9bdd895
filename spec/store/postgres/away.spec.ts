// A server that is away: restarted, killed, cut off, silent.

import {
  defineTable,
  type PostgresOptions,
  postgres,
  type Schema,
  type Store,
  StoreUnreachableError,
} from "signalbox/store";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { describePostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { type PostgresProxy, startProxy } from "../../support/postgres-proxy.js";
import { proving } from "../../support/proof.js";
import { leapingContext, storeContext, type TestContext } from "../../support/store-context.js";
import { until } from "../../support/until.js";

const log = defineTable("log", { columns: { at: "integer", id: "text" }, key: ["at"], counted: "at" });
const names = defineTable("names", { columns: { id: "text", n: "integer" }, key: ["id"] });
/** How long a server may be away. Its clock leaps over it, and a slow machine never gets there. */
const LIMIT_MS = 600_000;
const reconnect = { minMs: 5, maxMs: 20 };
const schema: Schema = { name: "away", version: 1, tables: [log, names] };

describePostgres("a server that is away", () => {
  let server: PostgresServer;
  let proxy: PostgresProxy;
  const open: Store[] = [];
  beforeAll(async () => {
    server = await startPostgres({ fsync: true });
    proxy = await startProxy(server);
  });
  afterEach(async () => {
    proxy.silent = false;
    proxy.refuses = false;
    proxy.breaksAt = undefined;
    for (const store of open.splice(0)) await store.close();
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  async function opened(
    options: PostgresOptions = {},
    context: TestContext = storeContext(),
  ): Promise<Store> {
    const store = await postgres(proxy.connection, options).open([schema], context);
    open.push(store);
    return store;
  }

  /** Writers that commit one set after another until they are told to stop. */
  function writers(store: Store, schemaName: string): { stop(): Promise<string[]>; some(): Promise<void> } {
    const acknowledged: string[] = [];
    let isOver = false;
    let waiting: (() => void) | undefined;
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; !isOver; n++) {
        const id = `${schemaName}/${writer}/${n}`;
        await store.commit({
          expect: [{ table: names, key: [id], is: "absent" }],
          writes: [
            { type: "insert", table: names, row: { id, n } },
            { type: "insert", table: log, row: { id } },
          ],
        });
        acknowledged.push(id);
        waiting?.();
      }
    };
    const all = Promise.all(Array.from({ length: 8 }, (_, i) => write(i)));
    return {
      async some() {
        const enough = acknowledged.length + 16;
        while (acknowledged.length < enough)
          await new Promise<void>((resolve) => {
            waiting = resolve;
          });
      },
      async stop() {
        isOver = true;
        await all;
        return acknowledged;
      },
    };
  }

  /** What was acknowledged is there once, in both tables, and nothing is half there. */
  async function checked(store: Store, acknowledged: readonly string[]): Promise<void> {
    const rows = await store.scan(names, { limit: 100_000 });
    const entries = await store.scan(log, { limit: 100_000 });
    expect(rows.map(({ id }) => id).sort()).toEqual([...acknowledged].sort());
    expect(entries.map(({ id }) => id).sort()).toEqual([...acknowledged].sort());
  }

  it("is waited for through restarts: nothing acknowledged is lost, nothing is written twice or by half [K35]", async () => {
    const store = await opened({ schema: "restarts" });
    const claim = await store.claim("host", { owner: "me" });
    const work = writers(store, "r");
    for (let i = 0; i < (proving ? 20 : 1); i++) {
      await work.some();
      await server.restart();
    }
    await work.some();
    await checked(store, await work.stop());
    expect(claim?.lost.aborted).toBe(false);
    expect(await store.claims("")).toMatchObject([{ name: "host", held: true }]);
  });

  it("is waited for when it was killed and recovers [K35]", async () => {
    const store = await opened({ schema: "kills" });
    const work = writers(store, "k");
    for (let i = 0; i < (proving ? 20 : 1); i++) {
      await work.some();
      await server.kill();
      await server.start();
    }
    await work.some();
    await checked(store, await work.stop());
  });

  it("is given up after a time that is stated, with what is known [K36]", async () => {
    const context = leapingContext();
    const store = await opened({ schema: "limits", unreachableMs: LIMIT_MS, reconnect }, context);
    const late = async (operation: Promise<unknown>): Promise<unknown> => {
      await context.leapUntil(operation, LIMIT_MS);
      return operation;
    };
    await server.shutDown();
    try {
      const row = { id: "a", n: 1 };
      const lost = late(store.commit({ writes: [{ type: "put", table: names, row }] }));
      await expect(lost).rejects.toThrow(StoreUnreachableError);
      await expect(lost).rejects.toMatchObject({ code: "ERR_STORE_UNREACHABLE", known: "nothing" });
      await expect(lost).rejects.toSatisfy(({ waitedMs }: StoreUnreachableError) => waitedMs >= LIMIT_MS);
      await expect(late(store.get(names, [["a"]]))).rejects.toMatchObject({ known: "nothing" });
      const held = store.transaction((tx) => tx.execute("select 1"));
      await expect(late(held)).rejects.toThrow(StoreUnreachableError);
      const never = opened({ schema: "never", unreachableMs: LIMIT_MS }, context);
      await expect(late(never)).rejects.toThrow(StoreUnreachableError);
    } finally {
      await server.start();
    }
    await store.commit({ writes: [{ type: "put", table: names, row: { id: "b", n: 1 } }] });
    expect((await store.scan(names, {})).map(({ id }) => id)).toEqual(["b"]);
  });

  it("that cannot be asked after a commit was sent leaves its outcome unknown, and says so [K36]", async () => {
    const context = leapingContext();
    const store = await opened({ schema: "unknown", unreachableMs: LIMIT_MS, reconnect }, context);
    const put = (id: string): Promise<unknown> =>
      store.commit({ writes: [{ type: "put", table: names, row: { id, n: 1 } }] });
    await put("warm");
    proxy.arm();
    await put("measure");
    // All but the last byte of the answer to COMMIT passes; then there is no server any more.
    proxy.arm({ direction: "to client", bytes: proxy.passed()["to client"] - 1 }, true);
    const cut = put("cut");
    await until(() => proxy.refuses);
    await context.leapUntil(cut, LIMIT_MS);
    await expect(cut).rejects.toMatchObject({ code: "ERR_STORE_UNREACHABLE", known: "unknown" });
    proxy.refuses = false;
    expect((await store.get(names, [["cut"]]))[0]).toEqual({ id: "cut", n: 1 });
  });

  it("that says nothing any more counts as gone, and another connection is made [K35]", async () => {
    const store = await opened({ schema: "silent", statementMs: 1_000, answerMs: 1_001, connectMs: 1_000 });
    await store.commit({ writes: [{ type: "put", table: names, row: { id: "a", n: 1 } }] });
    proxy.silent = true;
    const before = proxy.connections;
    const waiting = store.commit({ writes: [{ type: "put", table: names, row: { id: "b", n: 1 } }] });
    await until(() => proxy.connections !== before);
    proxy.silent = false;
    await waiting;
    expect(await store.count(names, {})).toBe(2);
  });

  it("is waited for by a store that opens, also when its connection breaks before it listens [K342]", async () => {
    proxy.breaksAt = "listen ";
    const before = proxy.broken;
    const opening = opened({ schema: "opening" });
    await until(() => proxy.broken > before);
    proxy.breaksAt = undefined;
    const store = await opening;
    await store.commit({ writes: [{ type: "put", table: names, row: { id: "a", n: 1 } }] });
    expect(await store.count(names, {})).toBe(1);
  });

  it("at which no connection comes to listen is given up by a store that opens, and opens later [K343]", async () => {
    const context = leapingContext();
    const options = { schema: "unheard", unreachableMs: LIMIT_MS, reconnect };
    const source = postgres(proxy.connection, options);
    proxy.breaksAt = "listen ";
    const late = source.open([schema], context);
    const refused = expect(late).rejects.toMatchObject({ code: "ERR_STORE_UNREACHABLE", known: "nothing" });
    await context.leapUntil(late, LIMIT_MS);
    await refused;
    proxy.breaksAt = undefined;
    open.push(await source.open([schema], context));
  });

  it("has its watchers look again once the store listens again [K37]", async () => {
    const store = await opened({ schema: "again" });
    let looked = 0;
    const again = new Promise<void>((resolve) => {
      store.watch("", {
        notified: () => undefined,
        again: () => {
          looked++;
          resolve();
        },
      });
    });
    proxy.cutAll();
    await again;
    expect(looked).toBe(1);
  });

  it("refuses a wrong password, database or option at once", async () => {
    const nobody = postgres({ ...server.connection, database: "nowhere" }).open([], storeContext());
    await expect(nobody).rejects.toMatchObject({ code: "ERR_STORE_SERVER", sqlState: "3D000" });
    expect(() => postgres("")).toThrow("connection must be");
    expect(() => postgres(7 as never)).toThrow("connection must be");
    expect(() => postgres(server.url, { schema: "A b" })).toThrow("schema must be");
    expect(() => postgres(server.url, { shema: "a" } as never)).toThrow("did you mean schema?");
    expect(() => postgres(server.url, { answerMs: 1 })).toThrow("more than statementMs");
    expect(() => postgres(server.url, { notificationBytes: 9_000 })).toThrow("notificationBytes must be");
  });
});
