// What holds between processes: one owner at a time, and a kill loses nothing that was acknowledged.

import { spawnSync } from "node:child_process";
import { readFileSync, renameSync, rmSync } from "node:fs";
import { type AnyRow, type Store, StoreLockedError, sqlite, type Table, type Value } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { checkOptions, durabilityOf } from "../../../lib/store/sqlite/settings.js";
import { type Child, type ChildProgram, childProgram } from "../../support/child-program.js";
import { sized } from "../../support/proof.js";
import { storeContext } from "../../support/store-context.js";
import { openWithPort } from "./engine.js";
import { DRIVERS, journal, newFolder, open, orders, shop } from "./support.js";

/** What pipelines keep: its writes need not survive a loss of power. */
const relaxed = PIPELINE_SCHEMA;

/** Limits of a process that runs are set by a program of Linux. */
const hasLimits = spawnSync("prlimit", ["--version"]).status === 0;

let program: ChildProgram;
beforeAll(async () => {
  program = await childProgram(new URL("programs/writer.ts", import.meta.url));
});
afterAll(() => program.remove());

/** All rows of a table whose key is one column: a scan ends at its limit, and kills leave more rows than that. */
async function every(store: Store, table: Table, key: string): Promise<AnyRow[]> {
  const rows: AnyRow[] = [];
  for (;;) {
    const last = rows.at(-1)?.[key] as Value | undefined;
    const page = await store.scan(table, { limit: PAGE, ...(last === undefined ? {} : { after: last }) });
    if (page.length === 0) return rows;
    for (const row of page) rows.push(row);
  }
}

const PAGE = 1_000;

describe.each(DRIVERS)("on %s", (driver) => {
  const start = (file: string, ...rest: string[]): Child =>
    program.start(file, driver, "process-kill", ...rest);

  it("a file has one owner: others are refused at once, and told who has it [K26]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const child = start(file, "true", "hold");
    await child.prints("ready");
    const refused = open(sqlite(file, { driver }));
    await expect(refused).rejects.toThrow(StoreLockedError);
    await expect(refused).rejects.toMatchObject({
      code: "ERR_STORE_LOCKED",
      owner: expect.stringContaining(`process ${child.pid} on `),
      message: expect.stringContaining(`process ${child.pid} on `),
    });
    child.signal("SIGTERM");
    expect(await child.ended).toMatchObject({ code: 0, stdout: "open 0\nready\nclosed\n" });
    expect(folder.list()).toEqual(["a.db"]);
    await (await open(sqlite(file, { driver }))).close();
  });

  it("a file is free, and one file, once its owner has closed it, without a thread too", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const store = await open(sqlite(file, { driver, thread: false }));
    await store.commit({ writes: [{ type: "insert", table: orders, row: { id: "a", total: 1 } }] });
    await store.close();
    expect(folder.list()).toEqual(["a.db"]);
    const child = start(file, "true", "hold");
    await child.prints("open 1");
    child.signal("SIGKILL");
    await child.ended;
  });

  it("a kill of the owner frees the file, and the claims of the owner", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const child = start(file, "true", "hold");
    await child.prints("ready");
    child.signal("SIGKILL");
    await child.ended;
    expect(folder.list()).toContain("a.db.owner");
    const store = await open(sqlite(file, { driver }));
    expect(readFileSync(folder.file("a.db.owner"), "utf8")).toContain(`process ${process.pid} on `);
    await store.close();
  });

  it("a store whose log is gone after a kill is refused, and says so, until a person puts it back or gives it up [K300]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const [log, owner] = [`${file}-wal`, `${file}.owner`];
    const child = start(file, "true", "hold");
    await child.prints("ready");
    child.signal("SIGKILL");
    await child.ended;
    const opened = (): Promise<Store> => open(sqlite(file, { driver }));

    renameSync(log, folder.file("kept"));
    for (let i = 0; i < 2; i++)
      await expect(opened()).rejects.toMatchObject({
        code: "ERR_STORE_INCOMPLETE",
        missing: log,
        message: expect.stringMatching(
          RegExp(`^${log} is gone: .*process ${child.pid} on .* remove ${owner}$`),
        ),
      });
    expect(folder.list()).toEqual(["a.db", "a.db.owner", "kept"]);

    renameSync(folder.file("kept"), log);
    await (await opened()).close();
    expect(folder.list()).toEqual(["a.db"]);
  });

  it("a store whose file is gone after a kill is refused beside its log, and begins again once a person gives both up [K300]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const child = start(file, "true", "hold");
    await child.prints("ready");
    child.signal("SIGKILL");
    await child.ended;
    rmSync(file);
    const opened = (): Promise<Store> => open(sqlite(file, { driver }));
    await expect(opened()).rejects.toMatchObject({ code: "ERR_STORE_INCOMPLETE", missing: file });
    expect(folder.list()).toEqual(["a.db-wal", "a.db.owner"]);
    rmSync(`${file}-wal`);
    await (await opened()).close();
    expect(folder.list()).toEqual(["a.db"]);
  });

  it.runIf(hasLimits)(
    "a file that may not grow refuses commits, and takes them again when it may; nothing acknowledged is lost [K49]",
    async () => {
      using folder = newFolder();
      const file = folder.file("a.db");
      const child = start(file, "true", "errors");
      await child.prints("ack 9\n");
      const limit = (bytes: string): void => {
        const { status } = spawnSync("prlimit", ["--pid", `${child.pid}`, `--fsize=${bytes}:unlimited`]);
        expect(status).toBe(0);
      };
      limit("4096");
      await child.prints("error ERR_STORE_FILE");
      limit("unlimited");
      await child.prints("again");
      child.signal("SIGKILL");
      const { stdout } = await child.ended;
      expect(stdout).toContain("could not be read or written");
      expect(stdout).toContain("limits on the size of files");
      const acknowledged = [...stdout.matchAll(/^ack (\d+)/gm)].map(([, n]) => n as string);
      const store = await open(sqlite(file, { driver }));
      const rows = await store.get(
        orders,
        acknowledged.map((id) => [id]),
      );
      expect(rows.filter((row) => row === undefined)).toEqual([]);
      await store.close();
    },
  );

  it("one connection serves all who open the file in a process, by any name [K27]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const one = await open(sqlite(file, { driver }));
    const other = await open(sqlite(`${folder.path}/./x/../a.db`, { driver }));
    await one.commit({ writes: [{ type: "insert", table: orders, row: { id: "a", total: 1 } }] });
    expect(await other.count(orders, {})).toBe(1);
    await expect(open(sqlite(file, { driver, durability: "process-kill" }))).rejects.toThrow(
      "durability must be power-loss, as where the file is open already",
    );
    await one.close();
    // The file is still ours: nothing has closed a descriptor of it.
    const child = start(file, "true", "hold");
    expect((await child.ended).stderr).toContain("StoreLockedError");
    expect(await other.count(orders, {})).toBe(1);
    await other.close();
  });

  it.each([
    ["power-loss", 2],
    ["process-kill", 1],
  ] as const)("%s is SQLite's synchronous = %d", async (durability, synchronous) => {
    using folder = newFolder();
    const { store, port } = await openWithPort(folder.file("a.db"), driver, undefined, undefined, durability);
    const sql = "pragma synchronous";
    const answer = await port.ask({ type: "read", queries: [{ sql, parameters: [] }] });
    expect(answer).toEqual([[{ synchronous }]]);
    await store.close();
  });

  it.each([
    ["nothing else is said", undefined, [shop], "power-loss"],
    ["all schemas need no more", undefined, [relaxed], "process-kill"],
    ["one schema needs more", undefined, [relaxed, shop], "power-loss"],
    ["the store says so", "power-loss", [relaxed], "power-loss"],
    ["the store says so", "process-kill", [shop], "process-kill"],
  ] as const)("a file is opened where %s: durability %s", (_why, durability, schemas, expected) => {
    const settings = checkOptions({ ...(durability && { durability }) });
    expect(durabilityOf(settings, schemas)).toBe(expected);
  });

  it("from the first schema on that asks for it, every commit is synced [Y120]", async () => {
    using folder = newFolder();
    const source = sqlite(folder.file("a.db"), { driver });
    const synchronous = async (store: Store): Promise<unknown> =>
      (await store.transaction((tx) => tx.execute("select * from pragma_synchronous"))).rows;
    const one = await source.open([relaxed], storeContext());
    expect(await synchronous(one)).toEqual([{ synchronous: 1 }]);
    const other = await source.open([shop], storeContext());
    expect(await synchronous(one)).toEqual([{ synchronous: 2 }]);
    await other.close();
    await one.close();
    const again = await source.open([relaxed], storeContext());
    expect(await synchronous(again)).toEqual([{ synchronous: 1 }]);
    await again.close();
  });

  it("acknowledged writes survive SIGKILL, and none is there in part [K28]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const acknowledged = new Set<string>();
    const kills = sized(3, 0.02);
    for (let kill = 0; kill < kills; kill++) {
      const child = start(file, kill % 3 === 2 ? "false" : "true");
      // At random: after the first acknowledgements, at any point of a group.
      await child.prints("ack");
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
      child.signal("SIGKILL");
      const { stdout, stderr } = await child.ended;
      expect(stderr.replace(/\(?.*(ExperimentalWarning|--trace-warnings).*\n/g, "")).toBe("");
      for (const [, n] of stdout.matchAll(/^ack (\d+)$/gm)) acknowledged.add(n as string);
    }
    const store = await open(sqlite(file, { driver }));
    const ids = (await every(store, orders, "id")).map((row) => row.id as string);
    const entries = await every(store, journal, "position");
    const found = new Set(ids);
    expect([...acknowledged].filter((id) => !found.has(id))).toEqual([]);
    // Each set is there with all its rows, and in the order of its numbers.
    expect(entries.length).toBe(ids.length * 2);
    const flows = new Map<unknown, unknown[]>();
    for (const { flow, entry } of entries) flows.set(flow, [...(flows.get(flow) ?? []), entry]);
    const torn = ids.filter((id) => flows.get(id)?.join() !== "begun,done");
    expect(torn).toEqual([]);
    expect(acknowledged.size).toBeGreaterThanOrEqual(kills);
    await store.close();
  });
});

describe("files", () => {
  it.runIf(DRIVERS.length === 2)("move between the two drivers, also after a kill [K29]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    let count = 0;
    for (const driver of ["node", "libsql", "node", "libsql"] as const) {
      const child = program.start(file, driver, "process-kill", "true");
      await child.prints("ack");
      child.signal("SIGKILL");
      const { stdout } = await child.ended;
      expect(Number(/open (\d+)/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(count);
      count += stdout.match(/^ack/gm)?.length ?? 0;
    }
    const store = await open(sqlite(file));
    expect(await store.count(orders, {})).toBeGreaterThanOrEqual(count);
    await store.close();
    expect(folder.list()).toEqual(["a.db"]);
  });
});
