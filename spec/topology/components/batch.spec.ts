// Batches: tuples that are handed over together, and settled together.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { batchBolt } from "../../../lib/topology/components/batch.js";
import { field } from "../../../lib/topology/definition/field.js";
import type { Tuple } from "../../../lib/topology/definition/tuple.js";
import { FakeTask } from "../fake-context.js";

type Numbers = readonly Tuple<{ readonly n: number }>[];

const input = { n: field.number };
const streams = { sums: { sum: field.number } };
const numbers = (batch: Numbers): number[] => batch.map(({ values }) => values.n);

/** A bolt that notes its batches. */
async function noting(options: { size: number; everyMs?: number }) {
  const batches: number[][] = [];
  const definition = batchBolt({ input, ...options, execute: (batch) => void batches.push(numbers(batch)) });
  return { batches, definition, task: await FakeTask.start(definition) };
}

describe("a batch is handed over", () => {
  test("when it has its size, and the next begins", async () => {
    const { task, batches } = await noting({ size: 2 });
    for (const n of [1, 2, 3, 4, 5]) expect(task.execute({ n })).toBeUndefined();
    expect(batches).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(task.acked).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  });

  test("at the first tick after its first tuple is `everyMs` old", async () => {
    const { task, batches } = await noting({ size: 9, everyMs: 100 });
    task.tick(50);
    task.execute({ n: 1 });
    task.tick(149);
    task.execute({ n: 2 });
    expect(batches).toEqual([]);
    task.tick(150);
    expect(batches).toEqual([[1, 2]]);
    task.tick(300);
    task.execute({ n: 3 });
    task.tick(399);
    expect(batches).toEqual([[1, 2]]);
    task.tick(401);
    expect(batches).toEqual([[1, 2], [3]]);
  });

  test("when the topology drains, and an empty one never", async () => {
    const { task, batches } = await noting({ size: 9 });
    task.flush();
    task.execute({ n: 1 });
    task.tick(1e9);
    expect(batches).toEqual([]);
    task.flush();
    task.flush();
    expect(batches).toEqual([[1]]);
    expect(task.acked).toEqual([{ n: 1 }]);
  });

  check.prop([
    fc.integer({ min: 1, max: 5 }),
    fc.array(fc.constantFrom("tuple", "tuple", "tuple", "tick", "flush"), { maxLength: 40 }),
  ])("with each tuple once, in order, and never too many", async (size, steps) => {
    const { task, batches } = await noting({ size, everyMs: 20 });
    let n = 0;
    for (const step of steps) {
      if (step === "tuple") task.execute({ n: n++ });
      else if (step === "tick") task.tick(task.time + 10);
      else task.flush();
      expect(task.acked.length).toBe(batches.flat().length);
      expect(n - task.acked.length).toBeLessThan(size);
    }
    task.flush();
    expect(batches.flat()).toEqual(Array.from({ length: n }, (_, i) => i));
    expect(batches.every((batch) => batch.length >= 1 && batch.length <= size)).toBe(true);
  });
});

describe("what a batch emits", () => {
  test("joins the trees of all its tuples, unless it says otherwise", async () => {
    const task = await FakeTask.start(
      batchBolt({
        input,
        streams,
        size: 2,
        execute: (batch, { emit }) => {
          emit.sums({ sum: 1 });
          emit.sums({ sum: 2 }, { task: 5 });
          emit.sums({ sum: 3 }, { anchors: batch[1] as Tuple });
          emit.sums({ sum: 4 }, { anchors: [] });
        },
      }),
    );
    task.execute({ n: 1 });
    task.execute({ n: 2 });
    const both = [{ n: 1 }, { n: 2 }];
    expect(task.emitted).toEqual([
      { stream: "sums", values: { sum: 1 }, anchors: both },
      { stream: "sums", values: { sum: 2 }, anchors: both, task: 5 },
      { stream: "sums", values: { sum: 3 }, anchors: [{ n: 2 }] },
      { stream: "sums", values: { sum: 4 }, anchors: [] },
    ]);
    expect(task.acked).toEqual(both);
  });

  test("joins those of the tuples that it has not settled itself, and these are left alone", async () => {
    const task = await FakeTask.start(
      batchBolt({
        input,
        streams,
        size: 4,
        execute: (batch, ctx) => {
          for (const tuple of batch) if (tuple.values.n < 0) ctx.fail(tuple);
          ctx.ack(batch[3] as Tuple<unknown>);
          ctx.emit.sums({ sum: 5 });
        },
      }),
    );
    for (const n of [1, -2, 3, 4]) task.execute({ n });
    expect(task.failed).toEqual([{ n: -2 }]);
    expect(task.acked).toEqual([{ n: 4 }, { n: 1 }, { n: 3 }]);
    expect(task.emitted[0]?.anchors).toEqual([{ n: 1 }, { n: 3 }]);
    expect(task.lines).toEqual([]);
  });
});

describe("a batch that fails", () => {
  test("fails all its tuples, is logged, and the bolt goes on", async () => {
    const task = await FakeTask.start(
      batchBolt({
        input,
        size: 2,
        execute: (batch) => {
          if (numbers(batch).includes(1)) throw new Error("no 1, please");
        },
      }),
    );
    for (const n of [1, 2, 3, 4]) task.execute({ n });
    expect(task.failed).toEqual([{ n: 1 }, { n: 2 }]);
    expect(task.acked).toEqual([{ n: 3 }, { n: 4 }]);
    expect(task.lines).toEqual(["error: work on 2 tuples failed: Error: no 1, please"]);
  });

  test("fails by rejecting too, except for what it has settled", async () => {
    const task = await FakeTask.start(
      batchBolt({
        input,
        size: 2,
        execute: async (batch, ctx) => {
          ctx.ack(batch[0] as Tuple);
          await Promise.resolve();
          throw "a text";
        },
      }),
    );
    task.execute({ n: 1 });
    await task.execute({ n: 2 });
    expect([task.acked, task.failed]).toEqual([[{ n: 1 }], [{ n: 2 }]]);
    expect(task.lines).toEqual(["error: work on 2 tuples failed: a text"]);
  });

  test("does not fail by ending its process: that is thrown on", async () => {
    const end = new Error("exited");
    const task = await FakeTask.start(
      batchBolt({
        input,
        size: 1,
        execute: () => {
          task.alive = false;
          throw end;
        },
      }),
    );
    expect(() => task.execute({ n: 1 })).toThrow(end);
    expect([task.failed, task.lines]).toEqual([[], []]);
  });
});

test("a task that ends while a batch is awaited settles nothing: that is done for it", async () => {
  let finish: () => void = () => undefined;
  const working = () => new Promise<void>((resolve) => (finish = resolve));
  const task = await FakeTask.start(batchBolt({ input, size: 1, execute: working }));
  const result = task.execute({ n: 1 });
  task.alive = false;
  finish();
  await result;
  expect([task.acked, task.failed, task.lines]).toEqual([[], [], []]);
});

test("an asynchronous batch is awaited before its tuples are acked", async () => {
  let finish: () => void = () => undefined;
  const task = await FakeTask.start(
    batchBolt({ input, size: 2, execute: () => new Promise<void>((resolve) => (finish = resolve)) }),
  );
  task.execute({ n: 1 });
  const working = task.execute({ n: 2 });
  await Promise.resolve();
  expect(task.acked).toEqual([]);
  finish();
  await working;
  expect(task.acked).toEqual([{ n: 1 }, { n: 2 }]);
});

test("a batch bolt has state, hooks and everything else of a task", async () => {
  const seen: unknown[] = [];
  const task = await FakeTask.start(
    batchBolt({
      input,
      streams,
      size: 1,
      init: async ({ component, shared }) => {
        shared.set("sum", 0);
        return { sum: 0, component };
      },
      execute: (batch, ctx) => {
        ctx.state.sum += batch[0]?.values.n ?? 0;
        seen.push([ctx.component, ctx.task, ctx.index, ctx.now(), ctx.random(), ctx.process.alive]);
        ctx.shared.set("sum", ctx.state.sum);
        ctx.log("info", "worked");
      },
      activate: ({ state }) => seen.push(state.component),
      deactivate: (ctx) => ctx.emit.sums({ sum: -1 }),
      close: ({ state, shared }, final) => seen.push(state.sum, shared.get("sum"), final),
    }),
  );
  task.hook("activate");
  task.time = 9;
  task.execute({ n: 4 });
  task.hook("deactivate");
  task.hook("close");
  expect(seen).toEqual(["held", ["held", 7, 2, 9, 0.5, true], 4, 4, true]);
  expect(task.lines).toEqual(["info: worked"]);
  expect(task.emitted).toEqual([{ stream: "sums", values: { sum: -1 }, anchors: [] }]);
});

test("a batch bolt may read several streams, told apart by name", async () => {
  const texts: string[] = [];
  const task = await FakeTask.start(
    batchBolt({
      inputs: { numbers: { n: field.number }, words: { word: field.text } },
      size: 2,
      execute: (batch) => {
        for (const tuple of batch)
          texts.push(tuple.stream === "words" ? tuple.values.word : String(tuple.values.n));
      },
    }),
  );
  task.execute({ n: 1 });
  task.execute({ word: "two" }, "words");
  expect(texts).toEqual(["1", "two"]);
});

describe("options of a batch bolt", () => {
  const execute = () => undefined;

  test("make it a bolt that settles by itself and looks four times in `everyMs`, at least once a second", () => {
    const tick = (everyMs?: number, config = {}) =>
      batchBolt({ input, size: 1, ...(everyMs !== undefined && { everyMs }), config, execute }).options.config
        ?.tickMs;
    const { options } = batchBolt({ input, size: 1, execute });
    expect([options.mode, options.tick]).toEqual(["manual", undefined]);
    expect([tick(), tick(1), tick(100), tick(60_000)]).toEqual([undefined, 1, 25, 1_000]);
    expect([tick(100, { tickMs: 7 }), tick(undefined, { tickMs: 7 })]).toEqual([7, 7]);
    expect(batchBolt({ input, size: 1, config: { retries: 1 }, execute }).options.config).toEqual({
      retries: 1,
    });
  });

  test.each([
    [undefined, "batchBolt(options) must be an object; got undefined"],
    [{ input, size: 1 }, "execute must be a function; got undefined"],
    [{ input, size: 0, execute }, "size must be a whole number, 1 or more; got 0"],
    [{ input, size: 1, everyMs: 0, execute }, "everyMs must be a number of milliseconds, 1 or more; got 0"],
    [{ input, size: 1, init: 5, execute }, "init must be a function; got 5"],
    [{ input, size: 1, close: null, execute }, "close must be a function; got null"],
    [
      { size: 1, execute },
      'batchBolt(options) must be given either `input` or `inputs`; got ["size","execute"]',
    ],
    [
      { input, size: 1, config: { tickMs: 0 }, execute },
      "config.tickMs must be a number of milliseconds, 1 or more",
    ],
    [{ input, size: 1, streams: 5, execute }, "streams must be an object of streams"],
  ])("are checked: %j", (options, text) => {
    expect(() => batchBolt(options as never)).toThrow(text);
  });
});
