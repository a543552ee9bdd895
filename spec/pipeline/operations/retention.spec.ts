// How long the history of executions is kept, and what remains of it.

import { OptionError, System } from "signalbox";
import { definePipeline, many, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory, openStore, type Store, type StoreSource } from "signalbox/store";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  deadLetters,
  executions,
  lineage,
  messages,
  PIPELINE_SCHEMA,
  sources,
} from "../../../lib/pipeline/ledger/tables.js";
import { checkRetention, RETENTION_LIMITS, retain } from "../../../lib/pipeline/operations/retention.js";
import { seen } from "../../support/until.js";

const WORDS = 230;

/** Runs executions of one line each, whose last word is bad. */
async function ran(source: StoreSource, ids: readonly string[]): Promise<{ system: System; store: Store }> {
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const [lines, words] = [queue<string>("lines"), queue<string>("words")];
  const split = route("split", { from: lines })
    .via("split", (line) => many(line.split(" ")))
    .to(words);
  const end = route("end", { from: words }).via("end", (word, ctx) =>
    word === "bad" ? ctx.giveUp("bad") : undefined,
  );
  const pipeline = definePipeline("job", { routes: [split, end] });
  const host = await system.start(pipelineHost({ store: source, pipelines: [pipeline] }));
  const line = [...Array.from({ length: WORDS - 1 }, (_, i) => `w${i}`), "bad"].join(" ");
  for (const id of ids) {
    const run = await host.start(pipeline, { id, messages: { to: lines, values: [line] } });
    await run.completed();
  }
  await host.stop();
  return { system, store: await openStore(system, source, [PIPELINE_SCHEMA]) };
}

const left = async (store: Store): Promise<number[]> =>
  Promise.all(
    [lineage, deadLetters, messages, sources].map((table) => store.count(table as typeof lineage, {})),
  );

describe("the retention of a host", () => {
  it("sums the history of old executions up by route, and removes it in commits of few rows [Y35]", async () => {
    const source = memory();
    const { system, store } = await ran(source, ["one", "two", "three"]);
    const sets: number[] = [];
    const counted = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== "commit") return typeof value === "function" ? value.bind(target) : value;
        return (set: Parameters<Store["commit"]>[0]) => {
          sets.push(set.writes.length);
          return target.commit(set);
        };
      },
    });
    expect(await left(store)).toEqual([3 * (WORDS + 1), 3, 0, 0]);
    expect(await retain(counted, checkRetention({ failed: 0, completed: "1 hour" }))).toBe(0);
    expect(await retain(counted, checkRetention({ most: 1 }))).toBe(2);
    expect(await left(store)).toEqual([WORDS + 1, 1, 0, 0]);
    expect(await retain(counted, checkRetention({ completed: 0 }))).toBe(1);
    expect(await left(store)).toEqual([0, 0, 0, 0]);
    expect(Math.max(...sets)).toBe(RETENTION_LIMITS.rows);
    expect(await retain(counted, checkRetention({ completed: 0, most: 0 }))).toBe(0);
    const rows = await store.scan(executions, {});
    expect(rows.map(({ id, done, dead, status }) => [id, done, dead, status])).toEqual(
      ["one", "two", "three"].map((id) => [id, WORDS + 1, 1, "completed"]),
    );
    await store.close();
    const lines = queue<string>("lines");
    const pipeline = definePipeline("job", {
      routes: [route("split", { from: lines }).via("a", () => undefined)],
    });
    const host = await system.start(pipelineHost({ store: source, pipelines: [pipeline] }));
    const { totals } = await host.get("two").status();
    expect(totals).toMatchObject([
      { route: "end", in: WORDS, out: 0, dead: 1 },
      { route: "split", in: 1, out: WORDS, dead: 0 },
    ]);
    expect(totals?.[0]?.longestMs).toBeLessThanOrEqual(totals?.[0]?.tookMs as number);
  });

  it("keeps the totals of an execution whose removal was interrupted, and ends the removal [Y35]", async () => {
    const { store } = await ran(memory(), ["one"]);
    let commits = 0;
    const dying = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== "commit") return typeof value === "function" ? value.bind(target) : value;
        return (set: Parameters<Store["commit"]>[0]) =>
          ++commits === 3 ? Promise.reject(new Error("the process ends")) : target.commit(set);
      },
    });
    await expect(retain(dying, checkRetention({ completed: 0 }))).rejects.toThrow("the process ends");
    const [halfway] = await left(store);
    expect(halfway).toBe(WORDS + 1 - RETENTION_LIMITS.rows);
    // What was begun is ended, also by a host that would keep it.
    expect(await retain(store, checkRetention({}))).toBe(1);
    expect(await left(store)).toEqual([0, 0, 0, 0]);
    const [row] = await store.scan(executions, {});
    expect(JSON.parse(row?.totals as string)).toMatchObject([{ in: WORDS }, { in: 1 }]);
    await store.close();
  });

  it("is done by the host that starts", async () => {
    const source = memory();
    await (await ran(source, ["one"])).store.close();
    const system = new System({ report: false });
    onTestFinished(() => system.stop());
    const lines = queue<string>("lines");
    const pipeline = definePipeline("job", {
      routes: [route("split", { from: lines }).via("a", () => undefined)],
    });
    const host = await system.start(
      pipelineHost({
        store: source,
        pipelines: [pipeline],
        retention: { completed: 0, every: "1 s" },
      }),
    );
    const run = host.get("one");
    expect(await seen(async () => (await run.status()).totals)).toHaveLength(2);
  });

  it("names options that it does not know, and values that are not allowed", () => {
    expect(() => checkRetention({ compleeted: 1 } as never)).toThrow(OptionError);
    expect(() => checkRetention({ most: -1 })).toThrow("retention.most");
    expect(() => checkRetention({ every: 10 })).toThrow("retention.every");
  });
});
