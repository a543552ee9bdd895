// The routes of an execution as a graph: from its frozen configuration, with what the store counts and a host measures. And messages that wait,
// with the reasons.

import { openPipelineOperations } from "signalbox/pipeline";
import { memory, openStore, type Store, type StoreSource } from "signalbox/store";
import { describe, expect, test } from "vitest";
import { Payloads } from "../../../lib/host/payload/payloads.js";
import { definePipeline } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { executions, messages, PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { LOOK_LIMITS, readCounts, readRoutes } from "../../../lib/pipeline/operations/looks.js";
import type { PipelineOperations } from "../../../lib/pipeline/operations/operations.js";
import { pipelineService, remoteOperations } from "../../../lib/pipeline/operations/operations-table.js";
import { type RouteGraph, routeGraph } from "../../../lib/pipeline/operations/route-graph.js";
import { StoreOperations } from "../../../lib/pipeline/operations/store-operations.js";
import { wireTo } from "../../admin/support/wire.js";
import { gate } from "../../support/gate.js";
import { hostOf, lines, newStore, system, wordPipeline, words } from "./support.js";

const NUMBERS = [
  { queue: "lines", ready: 3, delayed: 1, dead: 2 },
  { queue: "lost", ready: 1, delayed: 0, dead: 0 },
];
const about = { id: "a", pipeline: "words", status: "running", at: 5, atMost: 10 } as const;

/** Edges as lines, and nodes by name with their kind. */
function drawn({ nodes, edges }: RouteGraph) {
  return {
    nodes: nodes.map(({ name, kind }) => `${kind} ${name}`),
    edges: edges.map(({ from, to, queue: over }) => `${from} -${over}-> ${to}`),
  };
}

describe("the graph of an execution", () => {
  const code = {
    routes: [
      { name: "split", from: "lines", policy: { concurrency: 4 }, to: ["words", "notes"] },
      { name: "check", from: "words", to: [] },
    ],
    sources: [{ name: "file", to: "lines" }],
  };
  const file = {
    defaults: { concurrency: 4 },
    routes: {
      split: { from: "lines", to: [{ queue: "words", when: { field: "", operator: "eq" } }, "notes"] },
      check: { from: "words", concurrency: 1 },
    },
    sources: { file: { type: "csv", to: "lines" } },
  };

  test("is that of its frozen configuration, from code and from a file of YAML, with queues that no route takes from [N1559]", () => {
    for (const configuration of [code, file]) {
      const parts = { ...about, configuration, queues: NUMBERS, figures: undefined };
      const graph = routeGraph({ ...parts, sources: [{ name: "file", given: 7, open: false }] });
      expect(drawn(graph)).toEqual({
        nodes: ["source file", "route split", "route check", "sink lost", "sink notes"],
        edges: ["file -lines-> split", "split -words-> check", "split -notes-> notes"],
      });
      expect(graph.nodes[0]).toMatchObject({ done: 7, isOpen: false });
      expect(graph.nodes[1]).toMatchObject({ queue: "lines", ready: 3, delayed: 1, dead: 2, limit: 4 });
      expect(graph.nodes[1]).not.toHaveProperty("done");
      expect(graph.edges[0]).toMatchObject({ total: 7 });
      expect(graph.isLive).toBe(false);
    }
  });

  test("has unique names where a source, a route and a queue have the same one, and is empty without a configuration [N1559]", () => {
    const configuration = {
      routes: [{ name: "x", from: "in", to: ["x"] }],
      sources: [{ name: "x", to: "in" }],
    };
    const parts = { ...about, queues: [], sources: [], figures: undefined };
    expect(drawn(routeGraph({ ...parts, configuration }))).toEqual({
      nodes: ["source x (source)", "route x", "sink x (queue)"],
      edges: ["x (source) -in-> x", "x -x-> x (queue)"],
    });
    for (const none of [undefined, new Error("damaged"), "x", { routes: [7, { name: 1, from: "q" }] }])
      expect(drawn(routeGraph({ ...parts, configuration: none }))).toEqual({ nodes: [], edges: [] });
  });
});

describe("the operation routes", () => {
  const items = queue<number>("items");
  const results = queue<number>("results");

  test("shows what a host works on and what stops it, over the socket too, and the store's part when no host runs [N1559]", async () => {
    const on = system();
    const store = newStore();
    const go = gate();
    const begun = gate();
    const check = route("check", { from: items, concurrency: 2, prefetch: 10 })
      .via("wait", async (n: number) => {
        if (n === 1) begun.open();
        await go.promise;
        return n;
      })
      .to(results);
    const keep = route("keep", { from: results }).via("keep", () => undefined);
    const pipeline = definePipeline("waiting", { routes: [check, keep] });
    const host = await hostOf(on, store, pipeline);
    const run = await host.start(pipeline, { id: "a", messages: { to: items, values: [0, 1, 2, 3, 4] } });
    await begun.promise;
    const remote = remoteOperations(wireTo(pipelineService(host.operations, () => true)).ask);
    const [first, over] = [await host.operations.routes("a"), await remote.routes("a")];
    expect(drawn(over)).toEqual(drawn(first));
    expect(drawn(first)).toEqual({
      nodes: ["route check", "route keep"],
      edges: ["check -results-> keep"],
    });
    expect(first.isLive).toBe(true);
    const [node] = first.nodes;
    expect(node).toMatchObject({ ready: 5, inWork: 2, limit: 2, done: 0, failed: 0 });
    const closed = node?.gates.filter(({ state }) => state === "closed");
    expect(closed).toEqual([{ name: "concurrency", state: "closed", waiting: 3 }]);
    go.open();
    await run.completed();
    await host.stop();
    await using alone = await openPipelineOperations(on, store);
    const last = await alone.routes("a");
    expect([last.isLive, last.status, drawn(last)]).toEqual([false, "completed", drawn(first)]);
    expect(last.nodes[0]).toMatchObject({ ready: 0, limit: 2, gates: [], breakers: [] });
    await expect(alone.routes("b")).rejects.toMatchObject({ code: "ERR_PIPELINE_EXECUTION_NOT_FOUND" });
  });

  test("counts the messages of a queue, and the executions of a status, no further than a page needs [N1557]", async () => {
    const on = system();
    const source = memory();
    const host = await hostOf(on, source, wordPipeline() as never);
    await (
      await host.start(wordPipeline(), { id: "a", messages: { to: lines, values: ["x y"] } })
    ).completed();
    const store = await openStore(on, source, [PIPELINE_SCHEMA]);
    const asked: (number | undefined)[] = [];
    const { count } = store;
    store.count = (table, range) => {
      asked.push(range.atMost);
      return count.call(store, table, range);
    };
    const [row] = await store.scan(executions, {});
    if (row === undefined) throw new Error("there is no execution");
    await readRoutes(store, row, { routes: [{ name: "split", from: "lines" }] }, undefined);
    const { counts, atMost } = await readCounts(store);
    expect([counts.completed, counts.running, atMost]).toEqual([1, 0, LOOK_LIMITS.counted]);
    expect(new Set(asked)).toEqual(new Set([LOOK_LIMITS.counted]));
    asked.length = 0;
    const operations = new StoreOperations({ store, payloads: new Payloads(), after: () => () => undefined });
    expect((await operations.inspect("a", { atMost: 7 })).queues).toEqual(
      (await operations.inspect("a")).queues,
    );
    expect(new Set(asked)).toEqual(new Set([7, undefined]));
    await expect(operations.inspect("a", { atMost: 0 })).rejects.toMatchObject({ code: "ERR_OPTION" });
    await store.close();
  });
});

describe("messages that wait for their next attempt", () => {
  /** An execution whose messages have all failed once, and wait for an hour. */
  async function waiting(source: StoreSource): Promise<{ on: PipelineOperations; store: Store }> {
    const made = system();
    const retry = { attempts: 3, backoff: { minMs: 3_600_000, maxMs: 3_600_000, jitter: 0 } };
    const fail = route("fail", { from: words, retry }).via("fail", (word) => {
      throw new Error(`no ${word}`);
    });
    const pipeline = definePipeline("failing", { routes: [fail] });
    const host = await hostOf(made, source, pipeline);
    await host.start(pipeline, {
      id: "a",
      messages: { to: words, values: ["x", "y", "z"], key: (word) => word },
    });
    await expect.poll(async () => (await host.operations.delayed("a")).length).toBe(3);
    const store = await openStore(made, source, [PIPELINE_SCHEMA]);
    await host.stop();
    return { on: await openPipelineOperations(made, source), store };
  }

  test("are listed with the time until which they wait, and why: an attempt, an end of a process, a store in the way [N1556]", async () => {
    const { on, store } = await waiting(memory());
    const rows = await store.scan(messages, {});
    const set = async (i: number, columns: object): Promise<void> => {
      const { scope, queue: of, lane, id } = rows[i] as (typeof rows)[number];
      await store.commit({
        writes: [{ type: "update", table: messages, key: [scope, of, lane, id], set: { ...columns } }],
      });
    };
    await set(1, { quarantines: 2, history: '["ended its process (exit), 2 times"]' });
    await set(2, { setback: '{"times":4,"error":"busy"}' });
    // One that may be tried now does not wait.
    const ready = { ...(rows[0] as (typeof rows)[number]), lane: 0, id: "1.9" };
    await store.commit({ writes: [{ type: "put", table: messages, row: ready }] });
    const found = await on.delayed("a");
    const until = rows.map(({ lane }) => lane);
    expect(found.map(({ why }) => why).sort()).toEqual(["attempt", "quarantine", "setback"]);
    expect(found.map((one) => one.until)).toEqual(until);
    expect(found[0]).toMatchObject({
      ...{ queue: "words", route: "fail", attempts: 1, ends: 0, errors: [expect.stringContaining("no ")] },
    });
    expect(found[1]).toMatchObject({ why: "quarantine", ends: 2 });
    expect(found[2]).toMatchObject({ why: "setback", setback: { times: 4, error: "busy" } });
    expect((await on.delayed("a", { queue: "words", limit: 2 })).length).toBe(2);
    expect(await on.delayed("a", { queue: "other" })).toEqual([]);
    for (const wrong of [{ limit: 0 }, { queue: 7 }, { queues: "words" }])
      await expect(on.delayed("a", wrong as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
    await store.close();
  });
});
