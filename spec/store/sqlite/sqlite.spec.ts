import { describe, expect, it } from "vitest";
import { sqlite } from "../../../lib/store/index.js";
import { DRIVERS, journal, newFolder, orders, shop, TestContext } from "./support.js";

describe.each(DRIVERS)("with %s", (driver) => {
  it.each([true, false])("works (thread: %s)", async (thread) => {
    using folder = newFolder();
    const context = new TestContext();
    const store = await sqlite(folder.file("a.db"), { driver, thread }).open([shop], context);
    const row = { id: "A", total: 1.5, due: 3, body: new Uint8Array([1, 2]) };
    expect(
      await store.commit({
        writes: [
          { type: "insert", table: orders, row },
          { type: "insert", table: journal, row: { flow: "f", entry: "x" } },
          { type: "insert", table: journal, row: { flow: "f", entry: "y" } },
        ],
      }),
    ).toEqual({ results: [1, 1, 2] });
    expect(await store.get(orders, [["A"], ["B"]])).toEqual([row, undefined]);
    expect(await store.scan(journal, { index: "flow", prefix: ["f"] })).toEqual([
      { position: 1, flow: "f", entry: "x" },
      { position: 2, flow: "f", entry: "y" },
    ]);
    expect(folder.list()).toEqual(["a.db", "a.db-wal", "a.db.owner"]);
    await store.close();
    expect(folder.list()).toEqual(["a.db"]);
    const again = await sqlite(folder.file("a.db"), { driver, thread }).open([shop], context);
    expect(await again.get(orders, [["A"]])).toEqual([row]);
    expect(
      await again.transaction(async (tx) => {
        await tx.execute("create table bookings (id text primary key, n integer)");
        await tx.execute("insert into bookings values (?, ?)", ["x", 3]);
        return (await tx.execute("select * from bookings")).rows;
      }),
    ).toEqual([{ id: "x", n: 3 }]);
    await again.close();
  });
});
