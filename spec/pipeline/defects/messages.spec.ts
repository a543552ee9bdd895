// What becomes of messages while people pause and cancel, of many children, and of values that change later.

import { createHash } from "node:crypto";
import { System } from "signalbox";
import { definePipeline, many, type PipelineRun, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory, openStore, type WriteSet } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { messages, PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { proving } from "../../support/proof.js";
import { audited } from "../simulated/audit.js";
import { Lives } from "./lives.js";

const numbers = queue<number>("numbers");
const DAY_MS = 86_400_000;

test("messages that are in work during a long pause are settled once, and no other is begun (bug 33)", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  onTestFinished(() => clock.until(system.stop({ timeoutMs: 0 })));
  const calls: number[] = [];
  let begin!: () => void;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const work = route("work", { from: numbers, concurrency: 2, timeoutMs: Number.POSITIVE_INFINITY }).via(
    "work",
    async (n, ctx) => {
      calls.push(n);
      if (calls.length === 2) begin();
      await ctx.sleep(10 * DAY_MS);
      return undefined;
    },
  );
  const pipeline = definePipeline("patient", { routes: [work] });
  const pausing = async (): Promise<PipelineRun> => {
    const store = memory({ clock: () => clock.now + 1 });
    const host = await system.start(pipelineHost({ store, pipelines: [pipeline] }));
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1, 2, 3] } });
    await begun;
    await run.pause();
    return run;
  };
  const run = await clock.until(pausing());
  await clock.advance(5 * DAY_MS);
  expect(calls).toEqual([1, 2]);
  await clock.advance(6 * DAY_MS);
  expect([calls, (await clock.until(run.status())).done]).toEqual([[1, 2], 2]);
  await clock.until(run.resume());
  expect(await clock.until(run.completed())).toMatchObject({ done: 3, dead: 0 });
  expect(calls).toEqual([1, 2, 3]);
});

test("an execution that is cancelled while a message publishes has all of its children or none (bug 34)", async () => {
  const children = queue<number>("children");
  const publishes = ({ writes }: WriteSet): boolean =>
    writes.some(({ type, ...of }) => type === "put" && "row" in of && of.row.queue === "children");
  for (const isLate of [false, true]) {
    const split = route("split", { from: numbers })
      .via("split", () => many([1, 2, 3]))
      .to(children);
    const read = route("read", { from: children }).via("read", (_n, ctx) => ctx.sleep(DAY_MS));
    const pipeline = definePipeline("cancelled", { routes: [split, read] });
    const lives = new Lives(pipeline);
    let cancelled: Promise<unknown> | undefined;
    let run: PipelineRun | undefined;
    await lives.live(
      (set) => {
        if (publishes(set) && cancelled === undefined) cancelled = run?.cancel();
        return undefined;
      },
      async (host) => {
        run = host.get("one");
        const starts = host.start(pipeline, { id: "one", messages: { to: numbers, values: [1] } });
        await starts;
        if (isLate) await run.cancel();
        await run.completed().catch(() => undefined);
      },
    );
    const row = await lives.read((store) => audited(store, "one"));
    const live = await lives.read((store) => store.count(messages, {}));
    expect([row.status, row.pending]).toEqual(["cancelled", live]);
    expect([1, 3]).toContain(live);
  }
});

test("a value that its adapter changes after it has returned goes on as it was (bug 40)", async () => {
  const results = queue<{ n: number; list: number[] }>("results");
  const seen: unknown[] = [];
  const late: (() => void)[] = [];
  const make = route("make", { from: numbers })
    .via("make", (n) => {
      const value = { n, list: [n] };
      late.push(() => {
        value.n = -1;
        value.list.push(-1);
      });
      return value;
    })
    .to(results);
  const read = route("read", { from: results }).via("read", async (value, ctx) => {
    for (const change of late) change();
    await ctx.sleep(0);
    seen.push(structuredClone(value));
    value.list.push(7);
    if (ctx.attempt === 1) throw new Error("once more");
    return undefined;
  });
  const pipeline = definePipeline("changing", {
    routes: [make, read],
    defaults: { retry: { attempts: 2, backoff: { minMs: 1, maxMs: 1 } } },
  });
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const host = await system.start(pipelineHost({ store: memory(), pipelines: [pipeline] }));
  const run = await host.start(pipeline, { messages: { to: numbers, values: [5] } });
  expect(await run.completed()).toMatchObject({ done: 2, dead: 0 });
  const value = { n: 5, list: [5] };
  expect(seen).toEqual([value, value]);
});

/** As anybody can make it from the JSON of a value. */
const hashOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 32);

test("hashes in the lineage are of what a call got and gave, whatever changes it afterwards [Y38] (bug 40)", async () => {
  const lists = queue<number[]>("lists");
  const late: number[][] = [];
  const spoil = (list: number[]): number[] => {
    late.push(list);
    for (const one of late) one.push(-1);
    return list;
  };
  const make = route("make", { from: lists, hashValues: true })
    .via("now", (list) => {
      spoil(list);
      return spoil([1]);
    })
    .via("later", async (list, ctx) => {
      spoil(list);
      await ctx.sleep(0);
      return [2];
    })
    .via("split", (list) => {
      list.length = 0;
      return many([[3], [4]]);
    })
    .to(queue<number[]>("pairs"));
  const gather = route("gather", { from: queue<number[]>("pairs"), hashValues: true }).batch(
    "gather",
    { size: 2, everyMs: DAY_MS },
    (pairs) => {
      for (const pair of pairs) pair.length = 0;
      return undefined;
    },
  );
  const store = memory();
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const pipeline = definePipeline("hashed", { routes: [make, gather] });
  const host = await system.start(pipelineHost({ store, pipelines: [pipeline] }));
  const run = await host.start(pipeline, { messages: { to: lists, values: [[0]] } });
  await run.completed();
  const { message, children } = await run.lineage("10.10");
  const hashes = message.calls.map(({ adapter, input, output }) => [adapter, input, output]);
  expect(hashes).toEqual([
    ["now", hashOf([0]), hashOf([1, -1])],
    ["later", hashOf([1, -1]), hashOf([2])],
    ["split", expect.stringMatching(/^[0-9a-f]{32}$/), hashOf([[3], [4]])],
  ]);
  expect(children).toHaveLength(2);
  for (const { calls } of children)
    expect(calls).toEqual([{ ...calls[0], adapter: "gather", status: "ended", input: hashOf([[3], [4]]) }]);
});

test("a message of very many children has them in one commit, and all are settled (bug 26)", async () => {
  const CHILDREN = proving ? 100_000 : 3_000;
  const children = queue<number>("children");
  let sum = 0;
  const split = route("split", { from: numbers })
    .via("split", (n) => many(Array.from({ length: n }, (_, i) => i)))
    .to(children);
  const add = route("add", { from: children, concurrency: 4 }).via("add", (n) => {
    sum += n;
  });
  const pipeline = definePipeline("wide", { routes: [split, add] });
  const source = memory();
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const host = await system.start(pipelineHost({ store: source, pipelines: [pipeline] }));
  const run = await host.start(pipeline, { id: "one", messages: { to: numbers, values: [CHILDREN] } });
  expect(await run.completed()).toMatchObject({ done: CHILDREN + 1, dead: 0, pending: 0 });
  expect(sum).toBe((CHILDREN * (CHILDREN - 1)) / 2);
  await using store = await openStore(system, source, [PIPELINE_SCHEMA]);
  expect(await store.count(messages, {})).toBe(0);
});
