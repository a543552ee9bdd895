import { type SqlTransaction, type Store, sqlite } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { DRIVERS, newFolder, open, order, orders } from "./support.js";

/** A gate that a body waits at. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let release: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { opened, open: () => release() };
}

const seats = "create table seats (id integer primary key, taken_by text)";

describe.each(DRIVERS)("transactions of users on %s", (driver) => {
  async function within(body: (store: Store) => Promise<void>, options = {}): Promise<void> {
    using folder = newFolder();
    const source = sqlite(folder.file("a.db"), { driver, durability: "process-kill", ...options });
    const store = await open(source);
    try {
      await body(store);
    } finally {
      await store.close();
    }
  }

  it("take no set that expects a number of rows: SQL may see the rows as of an earlier moment", () =>
    within(async (store) => {
      const attach = () => ({ expect: [{ table: orders, prefix: [], rows: 0 }], writes: [] });
      await expect(store.transaction(async () => 1, { attach })).rejects.toThrow("about single rows");
    }));

  it("commit with the write set that is attached, or not at all [K18]", () =>
    within(async (store) => {
      const book = (id: string, fail = false): Promise<number> =>
        store.transaction(
          async (tx) => {
            await tx.execute(`${seats.replace("table", "table if not exists")}`);
            const { rows } = await tx.execute("insert into seats (taken_by) values (?) returning id", [id]);
            if (fail) throw new Error("changed my mind");
            return rows[0]?.id as number;
          },
          { attach: (seat) => order(`${id}-${seat}`) },
        );
      expect(await book("ann")).toBe(1);
      await expect(book("bob", true)).rejects.toThrow("changed my mind");
      // The order is there already, so the seat is not taken either.
      await store.commit(order("cid-2"));
      await expect(book("cid")).rejects.toMatchObject({ code: "ERR_STORE_CONFLICT" });
      const { rows } = await store.transaction((tx) => tx.execute("select * from seats"));
      expect(rows).toEqual([{ id: 1, taken_by: "ann" }]);
      expect(await store.get(orders, [["ann-1"], ["bob-2"]])).toMatchObject([{ id: "ann-1" }, undefined]);
    }));

  it("hold up no other writer while the body waits, and lose nothing by it [K19]", () =>
    within(async (store) => {
      await store.transaction((tx) => tx.execute(seats));
      const { opened, open: go } = gate();
      const slow = store.transaction(async (tx) => {
        await tx.execute("insert into seats (taken_by) values ('slow')");
        await opened;
        return (await tx.execute("select count(*) as n from seats")).rows;
      });
      // All of these commit while the body waits, groups and transactions alike.
      for (let i = 0; i < 5; i++) await store.commit(order(`${i}`));
      await store.transaction((tx) => tx.execute("select 1"));
      expect(await store.count(orders, {})).toBe(5);
      go();
      expect(await slow).toEqual([{ n: 1 }]);
    }));

  it("begin again when others change what they have read [K20]", () =>
    within(async (store) => {
      await store.transaction((tx) => tx.execute(seats));
      const read = gate();
      const go = gate();
      const counts: unknown[] = [];
      const slow = store.transaction(async (tx) => {
        const { rows } = await tx.execute("select count(*) as n from seats");
        counts.push(rows[0]?.n);
        read.open();
        await go.opened;
        await tx.execute("insert into seats (taken_by) values (?)", [`after ${rows[0]?.n}`]);
      });
      await read.opened;
      await store.transaction((tx) => tx.execute("insert into seats (taken_by) values ('fast')"));
      go.open();
      await slow;
      expect(counts).toEqual([0, 1]);
      const { rows } = await store.transaction((tx) => tx.execute("select taken_by from seats order by id"));
      expect(rows).toEqual([{ taken_by: "fast" }, { taken_by: "after 1" }]);
    }));

  it("give up when they are overtaken in each attempt", () =>
    within(async (store) => {
      await store.transaction((tx) => tx.execute(seats));
      const body = async (tx: SqlTransaction): Promise<void> => {
        await tx.execute("select count(*) from seats");
        await store.transaction((other) => other.execute("insert into seats (taken_by) values ('x')"));
        await tx.execute("select 1");
      };
      await expect(store.transaction(body, { attempts: 3 })).rejects.toMatchObject({
        name: "TransactionOvertakenError",
        code: "ERR_STORE_OVERTAKEN",
        message: expect.stringContaining("each of 3 attempts"),
      });
      const { rows } = await store.transaction((tx) => tx.execute("select count(*) as n from seats"));
      expect(rows).toEqual([{ n: 3 }]);
    }));

  it("have a time limit and an abort signal, and are rolled back by both", () =>
    within(async (store) => {
      await store.transaction((tx) => tx.execute(seats));
      let late: Promise<unknown> | undefined;
      const hang = (tx: SqlTransaction): Promise<void> =>
        new Promise((_resolve, reject) => {
          void tx.execute("insert into seats (taken_by) values ('hang')").then(() => {
            late = new Promise((done) => setTimeout(done, 30)).then(() => tx.execute("select 1"));
            late.catch(reject);
          });
        });
      await expect(store.transaction(hang, { timeoutMs: 20 })).rejects.toMatchObject({
        code: "ERR_STORE_TRANSACTION_TIMEOUT",
        message: expect.stringContaining("longer than 20 ms"),
      });
      await expect(late).rejects.toMatchObject({ code: "ERR_STORE_TRANSACTION_TIMEOUT" });
      const controller = new AbortController();
      const aborted = store.transaction(
        async (tx) => {
          await tx.execute("insert into seats (taken_by) values ('aborted')");
          controller.abort("enough");
          await new Promise(() => undefined);
        },
        { signal: controller.signal },
      );
      await expect(aborted).rejects.toMatchObject({ code: "ERR_STORE_TRANSACTION", cause: "enough" });
      const { rows } = await store.transaction((tx) => tx.execute("select count(*) as n from seats"));
      expect(rows).toEqual([{ n: 0 }]);
    }));

  it("go on after a statement that the database refuses", () =>
    within(async (store) => {
      await store.transaction((tx) => tx.execute("create table one (id integer primary key)"));
      await store.transaction(async (tx) => {
        await tx.execute("insert into one values (1)");
        await expect(tx.execute("insert into one values (1)")).rejects.toMatchObject({
          name: "SqlError",
          code: "ERR_STORE_SQL",
          result: 1555,
          sql: "insert into one values (1)",
        });
        // Others need the connection: the refused statement is refused again.
        await store.commit(order("a"));
        expect((await tx.execute("insert into one values (?)", [2])).changes).toBe(1);
      });
      const { rows } = await store.transaction((tx) => tx.execute("select id from one"));
      expect(rows).toEqual([{ id: 1 }, { id: 2 }]);
    }));

  it("refuse a body that returns before its statements are answered, and statements after the end", () =>
    within(async (store) => {
      let kept: SqlTransaction | undefined;
      await store.transaction(async (tx) => {
        kept = tx;
      });
      await expect(kept?.execute("select 1")).rejects.toThrow("after its end");
      await expect(
        store.transaction(async (tx) => {
          void tx.execute(seats).catch(() => undefined);
        }),
      ).rejects.toThrow("1 of its statements");
      await expect(store.transaction((tx) => tx.execute("select * from seats"))).rejects.toThrow(
        "no such table: seats",
      );
    }));

  it("are refused under a lost claim, together with their SQL [K21]", () =>
    within(async (store) => {
      const claim = await store.claim("host", { owner: "test" });
      await store.transaction((tx) => tx.execute(seats));
      const take = (): Promise<unknown> =>
        store.transaction((tx) => tx.execute("insert into seats (taken_by) values ('x')"), {
          ...(claim && { claim }),
        });
      await take();
      await store.revoke("host", claim?.token as number);
      await expect(take()).rejects.toMatchObject({ code: "ERR_STORE_FENCED" });
      const { rows } = await store.transaction((tx) => tx.execute("select count(*) as n from seats"));
      expect(rows).toEqual([{ n: 1 }]);
    }));

  it("keep all digits of integers, bytes and texts", () =>
    within(async (store) => {
      const values = [2n ** 62n, 7, true, 1.5, "é😀", new Uint8Array([0, 255]), new Uint8Array(0), null];
      const { rows } = await store.transaction((tx) =>
        tx.execute("select ? as a, ? as b, ? as c, ? as d, ? as e, ? as f, ? as g, ? as h, ? || 1 as i", [
          ...values,
          1,
        ]),
      );
      const row = rows[0] ?? {};
      expect(Object.entries(row)).toEqual([
        ["a", 2n ** 62n],
        ["b", 7],
        ["c", 1],
        ["d", 1.5],
        ["e", "é😀"],
        ["f", new Uint8Array([0, 255])],
        ["g", new Uint8Array(0)],
        ["h", null],
        ["i", "11"],
      ]);
    }));

  it("have bounds: rows of a result, statements, bytes", () =>
    within(
      async (store) => {
        const numbers = (n: number): string =>
          `with recursive c(n) as (select 1 union all select n + 1 from c where n < ${n}) select n from c`;
        await store.transaction(async (tx) => {
          expect((await tx.execute(numbers(5))).rows).toHaveLength(5);
          await expect(tx.execute(numbers(6))).rejects.toThrow("5 rows at most");
          await expect(tx.execute("select ?", ["x".repeat(2_000)])).rejects.toThrow("1000 bytes at most");
        });
        await expect(
          store.transaction(async (tx) => {
            for (let i = 0; i < 4; i++) await tx.execute("select 1");
          }),
        ).rejects.toThrow("3 statements at most");
      },
      { resultRows: 5, transactionBytes: 1_000, transactionStatements: 3 },
    ));
});
