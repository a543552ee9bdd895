import { System } from "signalbox";
import { memory, type StoreSource } from "signalbox/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { many } from "../../lib/pipeline/definition/adapter.js";
import { DeadLetterError } from "../../lib/pipeline/definition/errors.js";
import { definePipeline, feed, type PipelineDefinition } from "../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../lib/pipeline/definition/queue.js";
import { type AnyRoute, route } from "../../lib/pipeline/definition/route.js";
import type { Sourced } from "../../lib/pipeline/definition/source.js";
import { type PipelineHost, pipelineHost, runPipeline } from "../../lib/pipeline/host.js";
import type { Pid } from "../../lib/process/pid.js";

const lines = queue<string>("lines");
const words = queue<string>("words");
const numbers = queue<number>("numbers");
const QUICK = { attempts: 3, backoff: { minMs: 1, maxMs: 1 } };

function system(): System {
  const made = new System({ report: false });
  onTestFinished(() => made.stop());
  return made;
}

const hostOf = (
  on: System,
  store: StoreSource | undefined,
  ...pipelines: PipelineDefinition<never>[]
): Promise<PipelineHost> =>
  on.start(pipelineHost({ pipelines, drainMs: 10, ...(store === undefined ? {} : { store }) }));

const oneRoute = (made: AnyRoute, ...more: AnyRoute[]) => definePipeline("one", { routes: [made, ...more] });

/** Numbers, one after another, from the checkpoint on. */
function counter(last: number, seen?: number[]) {
  return {
    name: "counter",
    *open({ checkpoint }: { readonly checkpoint: number | undefined }): Iterable<Sourced<number, number>> {
      for (let i = (checkpoint ?? -1) + 1; i <= last; i++) {
        seen?.push(i);
        yield { value: i, checkpoint: i };
      }
    },
  };
}

/** Something that is opened from outside. */
function latch(): { readonly wait: Promise<void>; readonly open: () => void } {
  let open!: () => void;
  const wait = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { wait, open };
}

const STORES: readonly (readonly [string, () => StoreSource | undefined])[] = [
  ["in memory alone", () => undefined],
  ["in a store", () => memory()],
  ["in a store that several hosts share", () => memory({ shared: true })],
];

describe.each(STORES)("an execution %s", (_, store) => {
  test("completes when its last message is settled, with counts that add up [Y22] (bugs 1, 3)", async () => {
    const seen: string[] = [];
    const split = route("split", { from: lines })
      .via("words", (line) => many(line.split(" ")))
      .to(words);
    const count = route("count", { from: words, concurrency: 3 }).via("count", async (word) => {
      seen.push(word);
      return undefined;
    });
    const pipeline = oneRoute(split, count);
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: lines, values: ["a b c", "d e"] } });
    const summary = await run.completed();
    expect(summary).toMatchObject({ status: "completed", inputs: 2, done: 7, dead: 0, pending: 0 });
    expect(seen.sort()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("flushes its last partial batches, upstream first, and completes then [Y23] (bug 11)", async () => {
    const totals: number[] = [];
    const sums = queue<number>("sums");
    const hour = 3_600_000;
    const add = route("add", { from: numbers })
      .batch("sum", { size: 4, everyMs: hour }, (all) => [all.reduce((a, b) => a + b, 0)])
      .to(sums);
    const total = route("total", { from: sums }).batch("total", { size: 100, everyMs: hour }, (all) => {
      totals.push(all.length, ...all);
      return undefined;
    });
    const pipeline = definePipeline("sums", {
      routes: [add, total],
      sources: [feed(counter(9), numbers)],
    });
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline);
    expect(await run.completed()).toMatchObject({ inputs: 10, done: 13, dead: 0 });
    expect(totals).toEqual([3, 6, 22, 17]);
  });

  test("tries the messages of a batch that failed one by one, and only the bad one again [Y24] (bug 12)", async () => {
    const calls: (readonly number[])[] = [];
    const add = route("add", { from: numbers, retry: QUICK }).batch("sum", { size: 3 }, (all) => {
      calls.push(all);
      if (all.includes(1)) throw new Error("one");
      return undefined;
    });
    const pipeline = oneRoute(add);
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [0, 1, 2] } });
    expect(await run.completed()).toMatchObject({ done: 3, dead: 1 });
    expect(calls).toEqual([[0, 1, 2], [0], [1], [2], [1], [1]]);
  });

  test("fails one message of a batch alone, when the batch says so [Y25]", async () => {
    const made: number[] = [];
    const add = route("add", { from: numbers, retry: QUICK })
      .batch("sum", { size: 3 }, (all, ctx) => {
        for (const [i, n] of all.entries()) if (n === 0) ctx.fail(i, new DeadLetterError("zero"));
        return all.filter((n) => n !== 0);
      })
      .via("note", (n) => void made.push(n));
    const pipeline = oneRoute(add);
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [0, 1, 2] } });
    expect(await run.completed()).toMatchObject({ done: 3, dead: 1 });
    expect(made).toEqual([1, 2]);
  });

  test("remembers for a batch and the adapters behind it, from the commit of the batch on", async () => {
    const sums: number[] = [];
    const seen: number[] = [];
    let hasFailed = false;
    const add = route("add", { from: numbers, concurrency: 2, retry: QUICK })
      .batch("sum", { size: 2 }, async (all, ctx) => {
        const before = ((await ctx.recall("sum")) ?? 0) as number;
        const sum = all.reduce((a, b) => a + b, before);
        ctx.remember("sum", sum);
        expect(await ctx.recall("sum")).toBe(sum);
        await ctx.sleep(0);
        if (all.includes(8) && !hasFailed) {
          hasFailed = true;
          throw new Error("what a batch remembers that failed is forgotten");
        }
        sums.push(sum);
        return all;
      })
      .via("count", async (n, ctx) => {
        const before = ((await ctx.recall("count")) ?? 0) as number;
        ctx.remember("count", before + 1);
        seen.push(before + 1);
        return n;
      })
      .to(queue<number>("sums"));
    const read = route("read", { from: queue<number>("sums") }).via("read", () => undefined);
    const pipeline = oneRoute(add, read);
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1, 2, 4, 8, 16] } });
    expect(await run.completed()).toMatchObject({ done: 10, dead: 0 });
    expect([Math.max(...sums), seen]).toEqual([31, [1, 2, 3, 4, 5]]);
  });

  test("makes batches by key", async () => {
    const batches: string[][] = [];
    const group = route("group", { from: words }).batch("group", { size: 2, byKey: true }, (all, ctx) => {
      batches.push([ctx.key ?? "none", ...all]);
      return undefined;
    });
    const pipeline = oneRoute(group);
    const host = await hostOf(system(), store(), pipeline);
    const values = ["a1", "b1", "a2", "c1"];
    const run = await host.start(pipeline, { messages: { to: words, values, key: (word) => word[0] } });
    await run.completed();
    expect(batches).toEqual([
      ["a", "a1", "a2"],
      ["b", "b1"],
      ["c", "c1"],
    ]);
  });

  test("fails when a source throws, with its error [Y26] (bug 17)", async () => {
    const broken = {
      name: "broken",
      async *open() {
        yield { value: 1, checkpoint: 1 };
        throw new Error("the disk is gone");
      },
    };
    const read = route("read", { from: numbers }).via("read", () => undefined);
    const pipeline = definePipeline("broken", { routes: [read], sources: [feed(broken, numbers)] });
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline);
    await expect(run.completed()).rejects.toMatchObject({
      code: "ERR_PIPELINE_EXECUTION_FAILED",
      summary: { status: "failed" },
      cause: { message: "the disk is gone" },
    });
  });

  test("retries, and counts a dead letter when the attempts are used up (bugs 13, 14)", async () => {
    const attempts: number[] = [];
    const flaky = route("flaky", { from: numbers, retry: QUICK }).via("flaky", (_n, ctx) => {
      attempts.push(ctx.attempt);
      throw new Error("no");
    });
    const pipeline = oneRoute(flaky);
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1] } });
    expect(await run.completed()).toMatchObject({ status: "completed", done: 1, dead: 1 });
    expect(attempts).toEqual([1, 2, 3]);
  });

  test("answers a wait that begins after its end at once [Y27] (bug 19)", async () => {
    const pipeline = oneRoute(route("read", { from: numbers }).via("read", () => undefined));
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { id: "mine", messages: { to: numbers, values: [1] } });
    await run.completed();
    expect(await host.get("mine").completed({ timeoutMs: 1_000 })).toMatchObject({ done: 1 });
    const again = await host.start(pipeline, { id: "mine", messages: { to: numbers, values: [1, 2, 3] } });
    expect([again.attached, (await again.completed()).done]).toEqual([true, 1]);
  });

  test("gives no work while it is paused, and goes on at resume [Y28]", async () => {
    const seen: number[] = [];
    const first = latch();
    const go = latch();
    const read = route("read", { from: numbers }).via("read", async (n) => {
      seen.push(n);
      first.open();
      await go.wait;
      return undefined;
    });
    const pipeline = oneRoute(read);
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1, 2, 3] } });
    await first.wait;
    expect(await run.pause()).toBe(true);
    expect((await run.status()).status).toBe("paused");
    expect(await run.resume()).toBe(true);
    go.open();
    expect(await run.completed()).toMatchObject({ done: 3 });
    expect([seen, await run.pause()]).toEqual([[1, 2, 3], false]);
  });

  test("ends when it is cancelled: work in progress is aborted and settles nothing [Y29]", async () => {
    const started = latch();
    let aborted = false;
    const read = route("read", { from: numbers }).via("read", (_n, ctx) => {
      ctx.signal.addEventListener("abort", () => {
        aborted = true;
      });
      started.open();
      return new Promise<undefined>(() => undefined);
    });
    const pipeline = oneRoute(read);
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1, 2] } });
    await started.wait;
    expect(await run.cancel()).toBe(true);
    await expect(run.completed()).rejects.toMatchObject({
      summary: { status: "cancelled", done: 0, pending: 2 },
    });
    expect([aborted, await run.cancel()]).toEqual([true, false]);
  });

  test("stands beside others without touching them (bug 21)", async () => {
    const read = route("read", { from: numbers }).via("read", (n) => (n < 0 ? undefined : n));
    const pipeline = definePipeline("beside", { routes: [read], sources: [feed(counter(4), numbers)] });
    const host = await hostOf(system(), store(), pipeline);
    const runs = await Promise.all(["a", "b", "c"].map((id) => host.start(pipeline, { id })));
    const ends = await Promise.all(runs.map((run) => run.completed()));
    expect(ends.map(({ id, done }) => [id, done])).toEqual([
      ["a", 5],
      ["b", 5],
      ["c", 5],
    ]);
  });

  test("ends a circle of routes by its hop limit, with dead letters (bug 16)", async () => {
    const back = queue<number>("back");
    const there = route("there", { from: numbers })
      .via("there", (n) => n)
      .to(back);
    const home = route("home", { from: back })
      .via("home", (n) => n)
      .to(numbers);
    const pipeline = definePipeline("circle", { routes: [there, home], maxHops: 5 });
    const host = await hostOf(system(), store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1, 2] } });
    expect(await run.completed()).toMatchObject({ done: 12, dead: 2 });
  });
});

describe("a host", () => {
  const read = route("read", { from: numbers }).via("read", () => undefined);
  const pipeline = oneRoute(read);

  test("names the unknown parts", async () => {
    const on = system();
    const host = await hostOf(on, memory(), pipeline);
    const other = definePipeline("other", { routes: [read] });
    await expect(host.start(other)).rejects.toMatchObject({ code: "ERR_PIPELINE_UNKNOWN" });
    await expect(host.get("nobody").status()).rejects.toMatchObject({
      code: "ERR_PIPELINE_EXECUTION_NOT_FOUND",
    });
    const strange = { to: queue<number>("elsewhere"), values: [1] };
    await expect(host.start(pipeline, { messages: strange })).rejects.toMatchObject({ path: "messages.to" });
  });

  test("refuses an id that belongs to an execution of another pipeline", async () => {
    const other = definePipeline("other", { routes: [read] });
    const host = await hostOf(system(), memory(), pipeline, other);
    await host.start(pipeline, { id: "mine" });
    await expect(host.start(other, { id: "mine" })).rejects.toMatchObject({
      code: "ERR_PIPELINE_EXECUTION_ID_TAKEN",
    });
  });

  describe("a message that is larger than the pipeline allows", () => {
    // Quotes count, and an umlaut has two bytes: eight letters or four umlauts are just small enough.
    const maxMessageBytes = 10;
    const store = route("store", { from: words }).via("store", () => undefined);

    test("makes a dead letter of its message at once (bug 37)", async () => {
      const calls: string[] = [];
      const double = route("double", { from: lines, retry: QUICK })
        .via("double", (line) => {
          calls.push(line);
          return line + line;
        })
        .to(words);
      const pipeline = definePipeline("doubles", { maxMessageBytes, routes: [double, store] });
      const host = await hostOf(system(), memory(), pipeline);
      const values = ["aaaa", "bbbbb", "ää", "äää"];
      const run = await host.start(pipeline, { messages: { to: lines, values } });
      expect(await run.completed()).toMatchObject({ inputs: 4, done: 6, dead: 2 });
      expect(calls.sort()).toEqual([...values].sort());
    });

    test("ends the execution when a source gives it (bug 37)", async () => {
      const long = { name: "long", open: () => [{ value: "a".repeat(9), checkpoint: 0 }] };
      const sources = [feed(long, words)];
      const pipeline = definePipeline("long", { maxMessageBytes, routes: [store], sources });
      const host = await hostOf(system(), memory(), pipeline);
      const run = await host.start(pipeline);
      await expect(run.completed()).rejects.toMatchObject({
        code: "ERR_PIPELINE_EXECUTION_FAILED",
        cause: { message: expect.stringContaining("queue words has 11 bytes, and maxMessageBytes is 10") },
      });
    });

    test("is refused at the start, and nothing begins (bug 37)", async () => {
      const pipeline = definePipeline("given", { maxMessageBytes, routes: [store] });
      const host = await hostOf(system(), memory(), pipeline);
      const start = (...values: string[]) =>
        host.start(pipeline, { id: "x", messages: { to: words, values } });
      await expect(start("a", "a".repeat(9))).rejects.toMatchObject({
        ...{ code: "ERR_PIPELINE_MESSAGE_TOO_LARGE", queue: "words", bytes: 11, maxMessageBytes },
      });
      await expect(host.get("x").status()).rejects.toMatchObject({
        code: "ERR_PIPELINE_EXECUTION_NOT_FOUND",
      });
      expect(await (await start("a".repeat(8))).completed()).toMatchObject({ done: 1, dead: 0 });
    });
  });

  test("refuses to start under the id of a host that lives", async () => {
    const on = system();
    const store = memory();
    await on.start(pipelineHost({ store, pipelines: [pipeline], hostId: "h" }));
    const second = on.start(pipelineHost({ store, pipelines: [pipeline], hostId: "h" }));
    await expect(second).rejects.toMatchObject({
      reason: { error: { code: "ERR_PIPELINE_HOST_TAKEN" } },
    });
  });

  test("resumes interrupted executions, each source behind its last checkpoint [Y30] (bugs 10, 18)", async () => {
    const store = memory();
    const keep = await store.open([], {
      environment: { now: () => 0, wallTime: () => 0 } as never,
      after: () => () => undefined,
      warn: () => undefined,
    });
    const half = latch();
    const values: number[] = [];
    let isSecond = false;
    const slow = route("slow", { from: numbers, concurrency: 2 }).via("slow", async (n) => {
      if (!isSecond && n === 30) half.open();
      if (!isSecond && n >= 30) return new Promise<number>(() => undefined);
      return n;
    });
    // The first host never fills a batch, and the second one has no need to wait until a batch is due.
    const sum = slow.batch("sum", { size: 40 }, (all) => void values.push(...all));
    const counted = definePipeline("counted", {
      routes: [sum],
      sources: [feed(counter(99), numbers)],
      defaults: { fanOut: 10, highWaterMark: 50 },
    });
    const first = new System({ report: false });
    const host = await hostOf(first, store, counted);
    await host.start(counted, { id: "mine" });
    await half.wait;
    await host.stop();
    await first.stop();
    isSecond = true;
    const again = await hostOf(system(), store, counted);
    expect(await again.get("mine").completed()).toMatchObject({ inputs: 100, done: 100, dead: 0 });
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    await keep.close();
  });
});

test.each([true, false].flatMap((isBatch) => STORES.map(([where, store]) => ({ isBatch, where, store }))))(
  "a route whose process is killed when its worker has just finished settles that once, and the execution goes on ($where, batch: $isBatch)",
  async ({ isBatch, store }) => {
    const on = system();
    const calls: number[] = [];
    const called = (n: number): undefined => {
      calls.push(n);
      const pid = on.processes().find(({ label }) => label === "route work");
      if (n === 1) on.exit(pid as Pid<never>, "kill");
    };
    const from = route("work", { from: numbers, retry: QUICK });
    const pipeline = oneRoute(
      isBatch
        ? from.batch("work", { size: 1 }, ([n]) => called(n as number))
        : from.via("work", (n) => called(n)),
    );
    const crashes: unknown[] = [];
    on.events.on("exit", ({ reason }) => {
      if (reason.type === "crash") crashes.push(reason.error);
    });
    const host = await hostOf(on, store(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [0, 1, 2] } });
    expect(await run.completed()).toMatchObject({ done: 3, dead: 0 });
    expect([calls, crashes]).toEqual([[0, 1, 2], []]);
  },
);

test("runPipeline runs once, and leaves nothing behind", async () => {
  const on = system();
  const before = on.population;
  const pipeline = oneRoute(route("read", { from: numbers }).via("read", () => undefined));
  const { done } = await runPipeline(on, pipeline, { messages: { to: numbers, values: [1, 2, 3] } });
  expect([done, on.population]).toEqual([3, before]);
});

test("refuses what an adapter before a batch remembers, with the remedy", async () => {
  const add = route("add", { from: numbers, retry: { attempts: 1 } })
    .via("note", (n, ctx) => {
      ctx.remember("last", n);
      return n;
    })
    .batch("sum", { size: 2 }, () => undefined);
  const pipeline = oneRoute(add);
  const host = await hostOf(system(), memory(), pipeline);
  const run = await host.start(pipeline, { messages: { to: numbers, values: [1] } });
  await run.completed();
  for await (const { errors } of run.deadLetters())
    expect(errors[0]).toMatch(/remember must be absent: .* put it into a route before, or behind the batch/);
  expect.assertions(1);
});

test("two batches in a route are refused, with the remedy", () => {
  const twice = route("twice", { from: numbers })
    .batch("a", { size: 2 }, (all) => all)
    .batch("b", { size: 2 }, () => undefined);
  expect(() => pipelineHost({ pipelines: [oneRoute(twice)] })).toThrow(/begin another one with this adapter/);
});
