import { statSync } from "node:fs";
import { sqlite } from "signalbox/store";
import { describe, expect, it } from "vitest";
import type { Job } from "../../../lib/store/sqlite/jobs.js";
import { decide, initial, type WalEvent } from "../../../lib/store/sqlite/wal-machine.js";
import { storeContext, type TestContext } from "../../support/store-context.js";
import { openWithPort } from "./engine.js";
import { DRIVERS, journal, newFolder, open } from "./support.js";

const limits = { walBytes: 10, walWarnBytes: 100, idleMs: 5 };

/** The effects of events, in their order. */
function play(...events: WalEvent[]): unknown[] {
  let state = initial(limits);
  return events.map((event) => {
    const [next, effects] = decide(state, event);
    state = next;
    return effects;
  });
}

const written = (walBytes: number): WalEvent => ({ type: "written", walBytes });
const WAIT = { type: "wait", ms: 5 };
const EMPTY = { type: "empty" };

describe("the log", () => {
  it("is emptied in idle time when it is larger than its bound", () => {
    expect(
      play(
        written(9),
        written(11),
        written(12),
        { type: "waited" },
        { type: "waited" },
        {
          type: "emptied",
          busy: false,
          walBytes: 0,
        },
      ),
    ).toEqual([[], [WAIT], [], [WAIT], [EMPTY], []]);
  });

  it("gives one warning when a reader keeps it large, and is tried again in idle time", () => {
    expect(
      play(
        written(101),
        written(102),
        { type: "emptied", busy: true, walBytes: 102 },
        written(103),
        { type: "waited" },
        { type: "waited" },
        { type: "emptied", busy: true, walBytes: 103 },
        { type: "waited" },
        { type: "emptied", busy: false, walBytes: 0 },
        written(101),
      ),
    ).toEqual([
      [EMPTY],
      [],
      [{ type: "warn", walBytes: 102 }, WAIT],
      [],
      [WAIT],
      [EMPTY],
      [WAIT],
      [EMPTY],
      [],
      [EMPTY],
    ]);
  });

  it("is tried again after a failure, by the next write", () => {
    expect(play(written(101), { type: "failed" }, written(101))).toEqual([[EMPTY], [], [EMPTY]]);
  });
});

/** Timers that fire when the test says so. */
function stepped(): TestContext & { readonly timers: (() => void)[] } {
  const timers: (() => void)[] = [];
  const after = (_ms: number, fn: () => void): (() => void) => {
    timers.push(fn);
    return () => undefined;
  };
  return { ...storeContext(), timers, after };
}

describe.each(DRIVERS)("the log on %s", (driver) => {
  const fill = (bytes: number): { readonly writes: never[] } => ({
    writes: [{ type: "insert", table: journal, row: { flow: "a", entry: "x".repeat(bytes) } }] as never[],
  });

  it("stays near its bound while it is written to, and shrinks in idle time [K30]", async () => {
    using folder = newFolder();
    const context = stepped();
    const options = {
      driver,
      durability: "process-kill",
      walBytes: 1_000_000,
      checkpointPages: 100,
    } as const;
    const store = await open(sqlite(folder.file("a.db"), options), context);
    const size = (): number => statSync(folder.file("a.db-wal")).size;
    for (let i = 0; i < 200; i++) await store.commit(fill(20_000));
    // 4 MB have passed through it.
    expect(size()).toBeLessThan(1_000_000);
    await store.commit(fill(3_000_000));
    expect(size()).toBeGreaterThan(3_000_000);
    while (context.timers.length > 0) context.timers.shift()?.();
    await store.count(journal, {});
    expect(size()).toBe(0);
    expect(context.warnings).toEqual([]);
    await store.close();
  });

  it("that a reader keeps large is warned of: SQLite's answer to the attempt is looked at", async () => {
    using folder = newFolder();
    const context = storeContext();
    const jobs: Job["type"][] = [];
    const { store } = await openWithPort(
      folder.file("a.db"),
      driver,
      (port) => ({
        ...port,
        ask: async (job) => {
          jobs.push(job.type);
          const answer = await port.ask(job);
          // A reader in the way, which this connection cannot have: SQLite says so in the first column.
          if (job.type === "checkpoint") return { busy: true, walBytes: 1e9 } as never;
          return job.type === "write" ? ({ ...answer, walBytes: 1e9 } as never) : answer;
        },
      }),
      context,
    );
    await store.commit(fill(10));
    await store.count(journal, {});
    expect(jobs.filter((type) => type === "checkpoint")).toHaveLength(1);
    expect(context.warnings).toMatchObject([
      { code: "sqlite-wal", message: expect.stringContaining("a reader is in the way") },
    ]);
    await store.close();
  });

  it("has no reader that the library leaves open: a result that is not read to its end", async () => {
    using folder = newFolder();
    const options = { driver, resultRows: 2, checkpointPages: 10, walBytes: 200_000 };
    const store = await open(sqlite(folder.file("a.db"), options));
    for (let i = 0; i < 10; i++) await store.commit(fill(10));
    const all = store.transaction((tx) =>
      tx.execute(
        "with recursive c(n) as (select 1 union all select n + 1 from c where n < 500) select n from c",
      ),
    );
    await expect(all).rejects.toThrow("2 rows at most");
    await store.scan(journal, { limit: 1 });
    for (let i = 0; i < 100; i++) await store.commit(fill(20_000));
    expect(statSync(folder.file("a.db-wal")).size).toBeLessThan(400_000);
    await store.close();
    expect(folder.list()).toEqual(["a.db"]);
  });
});
