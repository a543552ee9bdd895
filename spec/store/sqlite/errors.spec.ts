import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Store, StoreDamagedError, StoreFileError, StoreFullError, sqlite } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { EngineFailure } from "../../../lib/store/sqlite/engine-port.js";
import { storeError } from "../../../lib/store/sqlite/failures.js";
import { storeContext } from "../../support/store-context.js";
import { openWithPort } from "./engine.js";
import { DRIVERS, journal, newFolder, open, order, orders } from "./support.js";

/** A page of SQLite. */
const PAGE = 4096;

describe("sqlite", () => {
  it("refuses paths and options that cannot be", () => {
    for (const path of ["", ":memory:", "a\0b", 7])
      expect(() => sqlite(path as string)).toThrow("path must be the path of a file");
    const given =
      (options: object): (() => unknown) =>
      () =>
        sqlite("a.db", options);
    expect(given({ durabilty: "power-loss" })).toThrow("did you mean durability?");
    expect(given({ durability: "full" })).toThrow('one of "power-loss", "process-kill"');
    expect(given({ thread: 1 })).toThrow("thread must be true or false");
    expect(given({ driver: "better" })).toThrow('one of "node", "libsql"');
    expect(given({ walBytes: 0 })).toThrow("walBytes");
    expect(given({ transactionMs: -1 })).toThrow("transactionMs");
  });

  it.runIf(DRIVERS.length === 1)("says which Node has node:sqlite, where this one has not", async () => {
    using folder = newFolder();
    await expect(open(sqlite(folder.file("a.db"), { driver: "node" }))).rejects.toThrow("Node 22.13");
  });
});

describe.each(DRIVERS)("errors on %s", (driver) => {
  const failing = (path: string): Promise<Store> => open(sqlite(path, { driver }));

  it("name a missing folder, and a folder in the place of the file [K22]", async () => {
    using folder = newFolder();
    await expect(failing(join(folder.path, "none", "a.db"))).rejects.toMatchObject({
      code: "ERR_STORE_FILE",
      path: join(folder.path, "none"),
      message: expect.stringContaining("create it first"),
    });
    mkdirSync(folder.file("a.db"));
    await expect(failing(folder.file("a.db"))).rejects.toThrow("is a folder");
    symlinkSync("/dev/null", folder.file("null"));
    await expect(failing(folder.file("null"))).rejects.toThrow("no ordinary file");
  });

  it("say of a file that it is no database, damaged, or another program's, and leave it as it is [K23]", async () => {
    using folder = newFolder();
    const text = "this is no database, but a text that is long enough for a header ".repeat(80);
    writeFileSync(folder.file("text"), text);
    await expect(failing(folder.file("text"))).rejects.toThrow(StoreDamagedError);
    await expect(failing(folder.file("text"))).rejects.toThrow(".recover");
    expect(readFileSync(folder.file("text"), "utf8")).toBe(text);

    const store = await failing(folder.file("cut"));
    for (let i = 0; i < 20; i++)
      await store.commit({
        writes: [{ type: "insert", table: journal, row: { flow: `${i}`, entry: "x".repeat(PAGE) } }],
      });
    await store.close();
    truncateSync(folder.file("cut"), 3 * PAGE);
    await expect(failing(folder.file("cut"))).rejects.toThrow(StoreDamagedError);

    await (await failing(folder.file("other"))).close();
    const bytes = readFileSync(folder.file("other"));
    // The header of SQLite has the application's id at byte 68, the version of the file at byte 60.
    bytes.writeUInt32BE(0x0f055112, 68);
    writeFileSync(folder.file("other"), bytes);
    await expect(failing(folder.file("other"))).rejects.toThrow("of another program");
    expect(readFileSync(folder.file("other"))).toEqual(bytes);
    expect(folder.list()).toEqual(["cut", "other", "text"]);
  });

  it("say of damage that is met later what it is", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const store = await failing(file);
    for (let i = 0; i < 50; i++)
      await store.commit({
        writes: [{ type: "insert", table: journal, row: { flow: `${i}`, entry: "x".repeat(PAGE) } }],
      });
    await store.close();
    const bytes = readFileSync(file);
    // The header and the schema stay whole, all else is noise.
    bytes.fill(0xa5, 16 * PAGE);
    writeFileSync(file, bytes);
    const again = await failing(file);
    await expect(again.scan(journal, {})).rejects.toThrow(StoreDamagedError);
    await again.close().catch(() => undefined);
  });

  it("refuse a file of a newer format, and change nothing [K24]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    await (await failing(file)).close();
    const bytes = readFileSync(file);
    bytes.writeUInt32BE(99, 60);
    writeFileSync(file, bytes);
    await expect(failing(file)).rejects.toMatchObject({ code: "ERR_STORE_VERSION", found: 99 });
    expect(readFileSync(file)).toEqual(bytes);
  });

  it("acknowledge nothing on a full disk, and write again when there is space [K25]", async () => {
    using folder = newFolder();
    const { store, port } = await openWithPort(folder.file("a.db"), driver);
    const most = async (pages: number): Promise<unknown> =>
      port.ask({ type: "read", queries: [{ sql: `pragma max_page_count = ${pages}`, parameters: [] }] });
    await most(30);
    const kept: number[] = [];
    let full: unknown;
    for (let i = 0; full === undefined; i++)
      await store
        .commit({
          writes: [{ type: "insert", table: journal, row: { flow: `${i}`, entry: "x".repeat(PAGE) } }],
        })
        .then(
          () => kept.push(i),
          (error: unknown) => {
            full = error;
          },
        );
    expect(full).toBeInstanceOf(StoreFullError);
    // A transaction of a user meets the same, and is rolled back as a whole.
    await expect(
      store.transaction(async (tx) => {
        await tx.execute("create table big (b blob)");
        await tx.execute("insert into big values (zeroblob(1000000))").catch(() => undefined);
        await tx.execute("insert into big values (1)").catch(() => undefined);
      }),
    ).rejects.toThrow(StoreFullError);
    await most(1_000_000);
    expect((await store.commit(order("after"))).results).toEqual([1]);
    const rows = await store.scan(journal, {});
    expect(rows.map((row) => Number(row.flow))).toEqual(kept);
    await expect(store.transaction((tx) => tx.execute("select * from big"))).rejects.toThrow("no such table");
    await store.close();
  });

  it("refuse commits once the file, its log or its folder was removed, renamed or replaced [K48]", async () => {
    using folder = newFolder();
    const refused = async (store: Store): Promise<void> => {
      for (let i = 0; i < 2; i++)
        await expect(store.commit(order("late"))).rejects.toMatchObject({
          code: "ERR_STORE_FILE",
          message: expect.stringMatching(
            /was removed, renamed or replaced .* nothing was written: stop the program/,
          ),
        });
      await expect(store.transaction((tx) => tx.execute("create table t (a)"))).rejects.toThrow(
        StoreFileError,
      );
      await store.close();
    };
    const opened = async (name: string): Promise<Store> => {
      mkdirSync(folder.file(name));
      const store = await failing(join(folder.file(name), "a.db"));
      await store.commit(order("kept"));
      return store;
    };
    const file = (name: string): string => join(folder.file(name), "a.db");
    const ids = async (path: string): Promise<unknown> => {
      const store = await failing(path);
      const rows = await store.scan(orders, {});
      await store.close();
      return rows.map(({ id }) => id);
    };

    const removed = await opened("removed");
    rmSync(file("removed"));
    await refused(removed);

    const gone = await opened("gone");
    rmSync(folder.file("gone"), { recursive: true });
    await refused(gone);

    const renamed = await opened("renamed");
    renameSync(folder.file("renamed"), folder.file("elsewhere"));
    await refused(renamed);
    expect(await ids(file("elsewhere"))).toEqual(["kept"]);

    // The log alone: what was acknowledged is still written back when the store is closed.
    const log = await opened("log");
    rmSync(`${file("log")}-wal`);
    await refused(log);
    expect(await ids(file("log"))).toEqual(["kept"]);

    // Another store in its place is not touched, and neither is its log.
    const child = await opened("other");
    const replaced = await opened("replaced");
    for (const end of ["", "-wal"]) copyFileSync(file("other") + end, `${file("replaced")}.new${end}`);
    for (const end of ["", "-wal"]) renameSync(`${file("replaced")}.new${end}`, file("replaced") + end);
    await refused(replaced);
    expect(await ids(file("replaced"))).toEqual(["kept"]);
    await child.close();
  });

  it("reject what waits when the thread ends, and every later operation", async () => {
    using folder = newFolder();
    const { store, port } = await openWithPort(folder.file("a.db"), driver);
    const waiting = expect(store.commit(order("a"))).rejects.toThrow("may or may not have been committed");
    await port.end();
    await waiting;
    await expect(store.get(orders, [["a"]])).rejects.toMatchObject({ code: "ERR_STORE" });
    await store.close().catch(() => undefined);
    const again = await open(sqlite(folder.file("a.db"), { driver }), storeContext());
    await again.close();
  });
});

describe("result codes of SQLite", () => {
  const failure = (result: number | undefined, code?: string): Error =>
    storeError("/a.db", new EngineFailure({ message: "m", result, code, at: "commit" }), "process 7");

  it.each([
    // SQLITE_BUSY_RECOVERY, SQLITE_IOERR_FSYNC, SQLITE_READONLY_DIRECTORY, SQLITE_CANTOPEN_ISDIR, SQLITE_CORRUPT_INDEX
    [261, "ERR_STORE_LOCKED", "is open in process 7"],
    [1034, "ERR_STORE_FILE", "could not be read or written"],
    [1544, "ERR_STORE_FILE", "cannot be written"],
    [526, "ERR_STORE_FILE", "cannot be opened"],
    [779, "ERR_STORE_DAMAGED", ".recover"],
    [26, "ERR_STORE_DAMAGED", ".recover"],
    [13, "ERR_STORE_FULL", "no space"],
    [1, "ERR_STORE", "failed at commit"],
  ])("%d gives %s", (result, code, text) => {
    expect(failure(result)).toMatchObject({ code, message: expect.stringContaining(text) });
  });

  it.each([
    ["ENOSPC", StoreFullError],
    ["EIO", StoreFileError],
  ])("%s of the host does too", (code, kind) => {
    expect(failure(undefined, code)).toBeInstanceOf(kind);
  });
});

describe.each(DRIVERS)("without a thread, on %s", (driver) => {
  it("writers that never pause leave the event loop its turns", async () => {
    using folder = newFolder();
    const source = sqlite(folder.file("a.db"), { driver, thread: false, durability: "process-kill" });
    const store = await open(source);
    let isOver = false;
    setImmediate(() => {
      isOver = true;
    });
    let i = 0;
    // Without turns this would never end.
    while (!isOver && i < 1_000) await store.commit(order(`${i++}`));
    expect(i).toBeLessThan(1_000);
    await store.close();
  });
});
