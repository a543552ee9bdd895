import { existsSync, writeFileSync } from "node:fs";
import { sqlite } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { SqliteConnection } from "../../../lib/store/sqlite/connection.js";
import { findDriver } from "../../../lib/store/sqlite/drivers.js";
import { loadHere, makeKit } from "../../../lib/store/sqlite/engine-kit.js";
import { DRIVERS, journal, newFolder, open, order, orders } from "./support.js";

describe.each(DRIVERS)("a backup on %s", (driver) => {
  const check = (path: string): unknown => {
    const found = findDriver(driver);
    if (found === undefined) throw new Error("no driver");
    const raw = makeKit(loadHere).openDatabase(found, path);
    const connection = new SqliteConnection(raw, found.kind === "node", 10);
    try {
      return connection.value("pragma integrity_check");
    } finally {
      connection.close();
    }
  };

  it("is a whole store as of one moment, made while others write", async () => {
    using folder = newFolder();
    const store = await open(sqlite(folder.file("a.db"), { driver, durability: "process-kill" }));
    for (let i = 0; i < 20; i++)
      await store.commit({
        writes: [{ type: "insert", table: journal, row: { flow: `${i}`, entry: "x".repeat(50_000) } }],
      });
    let more = true;
    let written = 0;
    const writer = (async () => {
      while (more) await store.commit(order(`${written++}`));
    })();
    await store.commit(order("before"));
    await store.backup(folder.file("copy.db"));
    more = false;
    await writer;
    await store.commit(order("after"));
    expect(check(folder.file("copy.db"))).toBe("ok");
    expect(existsSync(folder.file("copy.db.partial"))).toBe(false);
    const copy = await open(sqlite(folder.file("copy.db"), { driver }));
    expect(await copy.count(journal, {})).toBe(20);
    expect(await copy.get(orders, [["before"], ["after"]])).toMatchObject([{ id: "before" }, undefined]);
    // A number that the original has given is given by the copy only to later rows.
    expect(
      await copy.commit({ writes: [{ type: "insert", table: journal, row: { flow: "a", entry: "b" } }] }),
    ).toEqual({ results: [21] });
    await copy.close();
    await store.close();
  });

  it("goes to a new file alone, and leaves nothing behind when it fails", async () => {
    using folder = newFolder();
    const store = await open(sqlite(folder.file("a.db"), { driver, durability: "process-kill" }));
    writeFileSync(folder.file("there"), "mine");
    for (const name of ["there", "a.db"])
      await expect(store.backup(folder.file(name))).rejects.toMatchObject({
        code: "ERR_STORE_FILE",
        message: expect.stringContaining("is there already"),
      });
    await expect(store.backup(folder.file("none/copy"))).rejects.toThrow("is no folder");
    // What an earlier attempt left when its process was killed.
    writeFileSync(folder.file("copy.partial"), "half");
    await store.backup(folder.file("copy"));
    expect(folder.list()).toEqual(["a.db", "a.db-wal", "a.db.owner", "copy", "there"]);
    await store.commit(order("a"));
    await store.close();
  });
});
