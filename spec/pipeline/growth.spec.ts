// What a pipeline costs does not grow with what has passed through it.

import { statSync } from "node:fs";
import Database from "libsql";
import { System } from "signalbox";
import { definePipeline, feed, fromIterable, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory, type Store, type StoreSource, sqlite, type WriteSet } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { messages } from "../../lib/pipeline/ledger/tables.js";
import { STORE_DEFAULTS } from "../../lib/store/limits.js";
import { checkScan } from "../../lib/store/scans.js";
import { TableSql } from "../../lib/store/sqlite/table-sql.js";
import { newFolder } from "../store/sqlite/support.js";
import { storeContext } from "../support/store-context.js";

/** Two stages, over so many messages. */
async function run(store: StoreSource, count: number): Promise<void> {
  const inbox = queue<string>("inbox");
  const outbox = queue<string>("outbox");
  const values = fromIterable("values", function* () {
    for (let i = 0; i < count; i++) yield `${i} ${"x".repeat(200)}`;
  });
  const pipeline = definePipeline("growth", {
    routes: [
      route("first", { from: inbox })
        .via("copy", (text) => text)
        .to(outbox),
      route("second", { from: outbox }).via("end", () => undefined),
    ],
    sources: [feed(values, inbox)],
  });
  await using system = new System({ report: false });
  const host = await system.start(pipelineHost({ store, pipelines: [pipeline] }));
  const { done } = await (await host.start(pipeline)).completed();
  expect(done).toBe(2 * count);
}

/** What was asked of a store. */
class Meter {
  written = 0;
  read = 0;

  /** A source whose stores are counted. */
  of(source: StoreSource): StoreSource {
    return { label: source.label, open: async (...args) => this.#counted(await source.open(...args)) };
  }

  #counted(store: Store): Store {
    return new Proxy(store, {
      get: (_, name) => {
        const value: unknown = Reflect.get(store, name, store);
        if (typeof value !== "function") return value;
        return (...args: never[]): unknown => {
          if (name === "submit") this.written += (args[0] as unknown as WriteSet).writes.length;
          const answer: unknown = Reflect.apply(value, store, args);
          if (name === "scan" || name === "get" || name === "take")
            void (answer as Promise<unknown[]>).then((rows) => {
              this.read += rows.length;
            });
          return answer;
        };
      },
    });
  }
}

describe("a pipeline", () => {
  it("lets neither the log of SQLite nor its table grow, though a reader stays (bug 35) [Y121]", async () => {
    using folder = newFolder();
    const file = folder.file("a.db");
    const source = sqlite(file, { walBytes: 100_000, checkpointPages: 20 });
    const context = storeContext();
    const store = await source.open([], context);
    let leave!: () => void;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const reader = store.transaction(async (tx) => {
      await tx.execute("select 1 as n");
      await left;
    });
    await run(source, 800);
    // Each message was in the file twice, with 200 characters: some 400 kB passed through the log.
    expect(statSync(`${file}-wal`).size).toBeLessThan(250_000);
    leave();
    await reader;
    await store.close();
    expect(context.warnings).toEqual([]);
    const database = new Database(file);
    expect(database.prepare("select id from signalbox_pipeline_messages").all()).toEqual([]);
    // What is left is the lineage of 1,600 messages, and the pages that messages had for a while.
    expect(statSync(file).size).toBeLessThan(500_000);
    database.close();
  });

  it("asks for no more a message when ten times as many pass through it (bug 36) [Y122]", async () => {
    const cost = async (count: number): Promise<Meter> => {
      const meter = new Meter();
      await run(meter.of(memory()), count);
      return meter;
    };
    const few = await cost(200);
    const many = await cost(2_000);
    expect(many.written / few.written).toBeLessThan(10.5);
    expect(many.read).toBeLessThan(10 * few.read + 100);
  });

  it("reads and removes messages by their key, in its order: however many wait (bug 36)", () => {
    const sql = new TableSql(messages);
    const database = new Database(":memory:");
    database.exec(sql.create());
    for (const index of sql.indexes().values()) database.exec(index);
    const planOf = (text: string, parameters: readonly unknown[]): string[] =>
      database
        .prepare(`explain query plan ${text}`)
        .all(...parameters)
        .map((line) => (line as { readonly detail: string }).detail);
    const { sql: text, parameters } = sql.scan(
      checkScan(messages, { prefix: [1, "inbox", 0], from: "10.13", limit: 100 }, STORE_DEFAULTS),
    );
    expect(planOf(text, parameters)).toEqual([
      expect.stringMatching(/^SEARCH .*\(scope=\? AND queue=\? AND lane=\? AND id>\?\)$/),
    ]);
    const keys = ["10.10", "10.11"].map((id) => [1, "inbox", 0, id]);
    const {
      head,
      tuple,
      tail,
      fixed = [],
      values,
    } = sql.step({ type: "delete", table: messages, keys }, () => 0);
    expect(planOf(`${head}${tuple},${tuple}${tail}`, [...fixed, ...values])).toEqual([
      expect.stringMatching(/^SEARCH .*\(scope=\? AND queue=\? AND lane=\? AND id=\?\)$/),
    ]);
    database.close();
  });
});
