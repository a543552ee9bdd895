// A connection that breaks at any byte of a commit: what was acknowledged is there once, and nothing else.

import { defineTable, postgres, type Schema, type Store } from "signalbox/store";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describePostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { type Cut, type PostgresProxy, startProxy } from "../../support/postgres-proxy.js";
import { proving } from "../../support/proof.js";
import { storeContext } from "../../support/store-context.js";

const log = defineTable("log", { columns: { at: "integer", id: "text" }, key: ["at"], counted: "at" });
const names = defineTable("names", { columns: { id: "text" }, key: ["id"] });
const schema: Schema = { name: "cut", version: 1, tables: [log, names] };

/** Every byte border of an exchange; in `npm test` some of the first, and the last ones, where the answer to COMMIT is. */
function borders(direction: Cut["direction"], bytes: number): Cut[] {
  const all = Array.from({ length: bytes + 1 }, (_, i) => i);
  const some = all.filter((i) => proving || i % 193 === 0 || (i > bytes - 36 && i % 6 === 0) || i === bytes);
  return some.map((i) => ({ direction, bytes: i }));
}

describePostgres("a commit whose connection breaks", () => {
  let server: PostgresServer;
  let proxy: PostgresProxy;
  let store: Store;
  beforeAll(async () => {
    server = await startPostgres();
    proxy = await startProxy(server);
    store = await postgres(proxy.connection).open([schema], storeContext());
  });
  afterAll(async () => {
    await store.close();
    await proxy.stop();
    await server.stop();
  });

  /** Cuts `act` at each border, and checks what became of it. */
  async function cutEverywhere(
    act: (id: string) => Promise<number>,
    check: (id: string, result: number) => Promise<void>,
  ): Promise<void> {
    // Prepared statements belong to a connection: the first exchange on a new one is the longest.
    proxy.arm({ direction: "to server", bytes: 0 });
    await act("warm");
    proxy.arm();
    await act("measure");
    const { "to server": sent, "to client": answered } = proxy.passed();
    expect(sent).toBeGreaterThan(100);
    expect(answered).toBeGreaterThan(100);
    let cuts = 0;
    for (const cut of [...borders("to server", sent), ...borders("to client", answered)]) {
      const id = `${cut.direction} ${cut.bytes}`;
      proxy.arm(cut);
      const result = await act(id);
      if (proxy.wasCut()) cuts++;
      await check(id, result);
    }
    expect(cuts).toBeGreaterThan(proving ? 30 : 12);
  }

  it("is applied once, with the numbers that the rows have, and is no conflict with itself [K34]", async () => {
    let count = 2;
    await cutEverywhere(
      async (id) => {
        const { results } = await store.commit({
          expect: [{ table: names, key: [id], is: "absent" }],
          writes: [
            { type: "insert", table: names, row: { id } },
            { type: "insert", table: log, row: { id } },
          ],
        });
        return results[1] as number;
      },
      async (id, number) => {
        expect(await store.get(log, [[number]])).toEqual([{ at: number, id }]);
        expect(await store.count(log, {})).toBe(++count);
      },
    );
  });

  it("is applied once when a transaction of the user commits with it [K34]", async () => {
    await store.transaction((tx) => tx.execute("create table own (id text primary key)"));
    let runs = 0;
    let count = 0;
    await cutEverywhere(
      (id) =>
        store.transaction(
          async (tx) => {
            runs++;
            await tx.execute("insert into own values ($1)", [`${id}`]);
            return 1;
          },
          { attach: () => ({ writes: [{ type: "insert", table: names, row: { id: `tx ${id}` } }] }) },
        ),
      async (id) => {
        expect(await store.get(names, [[`tx ${id}`]])).toEqual([{ id: `tx ${id}` }]);
        count++;
      },
    );
    const [own] = await store.transaction(async (tx) => (await tx.execute("select count(*) from own")).rows);
    expect(own).toEqual({ count: count + 2 });
    expect(runs).toBeGreaterThan(count);
  });
});
