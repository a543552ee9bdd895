import { defineTable, type Schema, sqlite, type Table } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { storeContext } from "../../support/store-context.js";
import { DRIVERS, newFolder } from "./support.js";

const books1: Table = defineTable("books", {
  columns: { id: "text", title: "text?", shelf: "text?" },
  key: ["id"],
  indexes: { title: ["title"] },
});
const books2: Table = defineTable("books", {
  columns: { id: "text", title: "text?", shelf: "text?", length: "integer?" },
  key: ["id"],
  indexes: { title: ["title", "shelf"], length: ["length"] },
});

describe.each(DRIVERS)("the layout of a file on %s", (driver) => {
  const migrated = (sql: readonly string[]): Schema => ({
    name: "library",
    version: 2,
    tables: [books2],
    migrations: { 2: { sql } },
  });

  it("is migrated in one transaction: new columns, changed indexes, SQL; or stays as it is", async () => {
    using folder = newFolder();
    const source = sqlite(folder.file("a.db"), { driver, durability: "process-kill" });
    const version1: Schema = { name: "library", version: 1, tables: [books1] };
    const old = await source.open([version1], storeContext());
    const row = { id: "a", title: "Emma", shelf: "7" };
    await old.commit({ writes: [{ type: "put", table: books1, row }] });
    await old.close();

    const broken = migrated(["update signalbox_books set length = 4", "update nowhere set a = 1"]);
    await expect(source.open([broken], storeContext())).rejects.toThrow("no such table: nowhere");
    const still = await source.open([version1], storeContext());
    expect(await still.get(books1, [["a"]])).toEqual([row]);
    await still.close();

    const good = migrated(["update signalbox_books set length = length(title)"]);
    const now = await source.open([good], storeContext());
    expect(await now.scan(books2, { index: "length", from: 4 })).toEqual([{ ...row, length: 4 }]);
    expect(await now.scan(books2, { index: "title", prefix: ["Emma", "7"] })).toHaveLength(1);
    await now.close();
    // The second time there is nothing to do.
    await (await source.open([good], storeContext())).close();
  });

  it("leaves tables of the program alone", async () => {
    using folder = newFolder();
    const source = sqlite(folder.file("a.db"), { driver, durability: "process-kill" });
    const schema: Schema = { name: "library", version: 1, tables: [books1] };
    const store = await source.open([schema], storeContext());
    await store.transaction((tx) => tx.execute("create table books (id text primary key)"));
    await store.close();
    const again = await source.open([schema], storeContext());
    await again.transaction((tx) => tx.execute("insert into books values ('mine')"));
    expect(await again.count(books1, {})).toBe(0);
    await again.close();
  });
});
