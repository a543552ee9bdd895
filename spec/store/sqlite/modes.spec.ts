// Who may read what a store leaves on the disk.

import { chmodSync, statSync } from "node:fs";
import { sqlite } from "signalbox/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DRIVERS, newFolder, open, order } from "./support.js";

let before: number;
beforeEach(() => {
  before = process.umask();
});
afterEach(() => void process.umask(before));

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe.each(DRIVERS)("the files of a store on %s", (driver) => {
  it.each([0o000, 0o022, 0o777])("are those of its user alone, with the umask %o [K59]", async (umask) => {
    using folder = newFolder();
    process.umask(umask);
    const store = await open(sqlite(folder.file("a.db"), { driver }));
    await store.commit(order("1"));
    await store.backup(folder.file("copy.db"));
    expect(folder.list()).toEqual(expect.arrayContaining(["a.db", "a.db-wal", "a.db.owner", "copy.db"]));
    for (const name of folder.list()) expect(`${name} ${mode(folder.file(name))}`).toBe(`${name} 600`);
    await store.close();
    expect(mode(folder.file("a.db"))).toBe("600");
  });

  it("keep the mode that the database was given [K59]", async () => {
    using folder = newFolder();
    await (await open(sqlite(folder.file("a.db"), { driver }))).close();
    chmodSync(folder.file("a.db"), 0o640);
    const store = await open(sqlite(folder.file("a.db"), { driver }));
    await store.commit(order("1"));
    expect([mode(folder.file("a.db")), mode(folder.file("a.db-wal"))]).toEqual(["640", "640"]);
    expect(mode(folder.file("a.db.owner"))).toBe("600");
    await store.close();
  });
});
