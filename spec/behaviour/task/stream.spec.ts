// Streams of tasks: what they read, run, hand out and release; also with inputs and functions that misbehave.

import {
  type BodyContext,
  inspect,
  System,
  stop,
  TaskExitedError,
  type TaskResult,
  type TaskStream,
  type TaskStreamResult,
  TaskTimeoutError,
  taskStream,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { type TestClock, testClock } from "../../../lib/testing/kit/clock.js";
import { gate } from "../../support/gate.js";
import { puppet } from "../../support/puppet.js";

let clock: TestClock;
let system: System;
let reports: string[];
beforeEach(() => {
  clock = testClock();
  reports = [];
  system = new System({ name: "shop", environment: clock.environment, report: (text) => reports.push(text) });
});
afterEach(async () => {
  // Nothing is left of any stream.
  expect(system.processes().filter(({ label }) => label?.includes("task"))).toEqual([]);
  await system.stop();
});

const THEN: string = ["th", "en"].join("");

const hangs = (): Promise<never> => new Promise(() => undefined);

/** Counts up, and notes what it is asked. */
class Counter implements IterableIterator<number> {
  read = 0;
  returned = 0;
  readonly last: number;
  constructor(last = Number.POSITIVE_INFINITY) {
    this.last = last;
  }
  [Symbol.iterator](): this {
    return this;
  }
  next(): IteratorResult<number> {
    return this.read < this.last ? { done: false, value: this.read++ } : { done: true, value: undefined };
  }
  return(): IteratorResult<number> {
    this.returned++;
    return { done: true, value: undefined };
  }
}

/** Tasks that end when the test says so. */
class Work {
  readonly running: number[] = [];
  most = 0;
  readonly #gates = new Map<number, () => void>();
  readonly run = async (item: number, ctx: BodyContext<unknown>): Promise<string> => {
    const door = gate();
    this.running.push(item);
    this.most = Math.max(this.most, this.running.length);
    this.#gates.set(item, () => door.open());
    ctx.signal.addEventListener("abort", () => this.running.splice(this.running.indexOf(item), 1));
    await door.promise;
    return `done ${item}`;
  };
  async finish(item: number): Promise<void> {
    this.#gates.get(item)?.();
    await system.idle();
  }
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

const outcome = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error) => error);

describe("the results", () => {
  const inputs: readonly (readonly [string, () => Iterable<number> | AsyncIterable<number>])[] = [
    ["an array", () => [0, 1, 2, 3, 4]],
    ["a Set", () => new Set([0, 1, 2, 3, 4])],
    [
      "an iterator without return",
      () => ({ [Symbol.iterator]: () => ({ next: Counter.prototype.next, read: 0, last: 5 }) as never }),
    ],
    [
      "an async generator",
      async function* () {
        for (let i = 0; i < 5; i++) yield i;
      },
    ],
  ];
  it.each(inputs)("of %s come in the order of the items, each once [B42]", async (_what, make) => {
    const stream = taskStream(system, make(), (n) => n * 2, { concurrency: 3 });
    expectTypeOf(stream).toEqualTypeOf<TaskStream<number>>();
    expect(await collect(stream)).toEqual([0, 2, 4, 6, 8]);
    expect(await collect(taskStream(system, make(), async (n) => n * 2))).toEqual([0, 2, 4, 6, 8]);
    expect(await collect(stream)).toEqual([]);
  });

  it("of no items are none", async () => {
    expect(await collect(taskStream(system, [], hangs))).toEqual([]);
  });

  it("come in the order of the ends, if wanted [B42]", async () => {
    const work = new Work();
    const seen: string[] = [];
    const run = async (ordered: boolean): Promise<void> => {
      for await (const one of taskStream(system, [0, 1, 2], work.run, { ordered })) seen.push(one);
    };
    for (const ordered of [false, true]) {
      const all = run(ordered);
      await system.idle();
      for (const item of [2, 0, 1]) await work.finish(item);
      await all;
    }
    expect(seen).toEqual(["done 2", "done 0", "done 1", "done 0", "done 1", "done 2"]);
  });

  it("of items that are promises are those of their values; a rejection is that item's failure", async () => {
    const rejected = Promise.reject(new Error("no ink"));
    rejected.catch(() => undefined);
    const items = [Promise.resolve(1), 2, rejected];
    const stream = taskStream(system, items, (n) => n + 1, { failures: "values" });
    expectTypeOf(stream).toExtend<TaskStream<TaskStreamResult<unknown, number>>>();
    const results = await collect(stream);
    expect(results).toMatchObject([
      { value: 2 },
      { value: 3 },
      { ok: false, error: { cause: { message: "no ink" } } },
    ]);
    expectTypeOf(results[0] as TaskResult<number>).toExtend<TaskResult<number>>();
  });

  it("go to calls of next one after the other, also without an await in between", async () => {
    const stream = taskStream(system, new Counter(5), (n) => n, { concurrency: 2 });
    const calls = Array.from({ length: 7 }, () => stream.next());
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual([
      0,
      1,
      2,
      3,
      4,
      undefined,
      undefined,
    ]);
  });
});

describe("the demand", () => {
  it("starts nothing before the first next", async () => {
    const counter = new Counter();
    const stream = taskStream(system, counter, hangs);
    await system.idle();
    expect([counter.read, system.population]).toEqual([0, 0]);
    await stream.return();
    expect([counter.read, counter.returned]).toEqual([0, 0]);
  });

  it.each([
    [3, 3, true],
    [3, 3, false],
    [2, 5, true],
    [2, 5, false],
    [1, 1, true],
  ])(
    "runs at most %i tasks, and is at most %i items ahead of the consumer; ordered: %s [B41]",
    async (concurrency, maxAhead, ordered) => {
      const counter = new Counter();
      const work = new Work();
      const stream = taskStream(system, counter, work.run, { concurrency, maxAhead, ordered });
      void stream.next();
      await system.idle();
      expect([counter.read, work.running.length]).toEqual([concurrency, concurrency]);
      // The first result is taken by the `next` that waits. The others wait for the consumer.
      for (let i = 0; i < 20; i++) await work.finish(i);
      expect(counter.read).toBe(maxAhead + 1);
      for (let taken = 2; taken < 10; taken++) {
        await stream.next();
        await system.idle();
        expect(counter.read).toBe(maxAhead + taken);
        for (let i = 0; i < 40; i++) await work.finish(i);
      }
      expect(work.most).toBe(concurrency);
      await stream.return();
    },
  );

  it("is seen by inspection of the stream's process", async () => {
    const work = new Work();
    const stream = taskStream(system, ["a", "b", "c"] as never as number[], work.run, { concurrency: 2 });
    void stream.next();
    await system.idle();
    const process = system.processes().find(({ label }) => label === "task stream");
    const running = [0, 1].map((index) => ({ pid: expect.anything(), index, item: ["a", "b"][index] }));
    const state = await inspect(system, process as never).state();
    expect(state).toEqual({ phase: "open", read: 2, taken: 0, waiting: 0, running });
    await stream.return();
  });

  it("leaves no dead letter when its process is killed before it knows what was taken", async () => {
    const dead: unknown[] = [];
    system.events.on("deadLetter", ({ message }) => dead.push(message));
    const stream = taskStream(system, [1, 2, 3, 4, 5, 6], async (item) => item, { concurrency: 3 });
    await stream.next();
    await system.idle();
    await stream.next();
    await stream.next();
    const process = system.processes().find(({ label }) => label === "task stream");
    system.exit(process as never, "kill");
    await system.idle();
    expect(dead).toEqual([]);
    await stream.return();
  });

  it("of an ordered stream waits behind a slow task for `maxAhead` items", async () => {
    const counter = new Counter();
    const work = new Work();
    const stream = taskStream(system, counter, work.run, { concurrency: 2, maxAhead: 4 });
    const first = stream.next();
    await system.idle();
    for (const item of [1, 2, 3]) await work.finish(item);
    expect([counter.read, work.running]).toEqual([4, [0]]);
    await work.finish(0);
    expect((await first).value).toBe("done 0");
    await stream.return();
  });
});

describe("a failure", () => {
  const failing = (item: number): number => {
    if (item === 2) throw new Error("no paper");
    return item;
  };

  it("ends the stream: results that are ready come first, all other tasks are killed [B45]", async () => {
    const counter = new Counter();
    const aborted: number[] = [];
    const seen: number[] = [];
    const fn = (item: number, { signal }: BodyContext<unknown>): number | Promise<never> => {
      if (item < 3) return failing(item);
      signal.addEventListener("abort", () => aborted.push(item));
      return hangs();
    };
    const all = (async () => {
      for await (const one of taskStream(system, counter, fn, { concurrency: 5 })) seen.push(one);
    })();
    const error = (await outcome(all)) as TaskExitedError;
    expect(error).toBeInstanceOf(TaskExitedError);
    expect([error.code, (error.cause as Error).message]).toEqual(["ERR_TASK_EXITED", "no paper"]);
    expect([seen, aborted, counter.returned]).toEqual([[0, 1], [3, 4], 1]);
    expect(reports).toEqual([]);
  });

  it("comes once, and then the stream is over", async () => {
    const stream = taskStream(system, [2], failing);
    expect(await outcome(stream.next())).toBeInstanceOf(TaskExitedError);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it("is a value, if wanted, with the item and its number [B45]", async () => {
    const results = await collect(taskStream(system, [1, 2, 3], failing, { failures: "values" }));
    expect(results).toEqual([
      { ok: true, value: 1, index: 0, input: 1 },
      { ok: false, error: expect.any(TaskExitedError), index: 1, input: 2 },
      { ok: true, value: 3, index: 2, input: 3 },
    ]);
  });

  it.each<[string, (ctx: BodyContext<unknown>) => unknown, string]>([
    ["an exit", (ctx) => ctx.exit("normal"), "normal"],
    ["a stop", () => stop("shutdown"), "shutdown"],
    ["a kill", (ctx) => ctx.exit(ctx.self, "kill"), "killed"],
  ])("is %s of the task too", async (_how, fn, reason) => {
    const results = await collect(taskStream(system, [1], (_n, ctx) => fn(ctx), { failures: "values" }));
    expect(results).toMatchObject([{ ok: false, error: { reason: { type: reason } } }]);
  });
});

describe("the time of an item", () => {
  it("is over: its task is killed, and its result says so [B43]", async () => {
    const ended: number[] = [];
    const fn = (item: number, { signal }: BodyContext<unknown>): Promise<number> | number => {
      signal.addEventListener("abort", () => ended.push(item));
      return item % 2 === 0 ? item : hangs();
    };
    const all = collect(
      taskStream(system, [0, 1, 2, 3], fn, { concurrency: 2, timeoutMs: 100, failures: "values" }),
    );
    await clock.advance(99);
    expect(ended).toEqual([0, 2]);
    await clock.advance(1);
    expect(ended).toEqual([0, 2, 1]);
    // The last item is read when the first one that hangs has made room.
    await clock.advance(100);
    const results = await all;
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true, false]);
    const [, late] = results as { readonly error: TaskTimeoutError }[];
    expect(late?.error).toBeInstanceOf(TaskTimeoutError);
    expect([late?.error.code, late?.error.timeoutMs]).toEqual(["ERR_TASK_TIMEOUT", 100]);
    expect([ended.length, system.kernel.pendingTimers]).toEqual([4, 0]);
  });

  it("begins with its task, and not with the stream", async () => {
    const all = collect(
      taskStream(system, [60, 60, 60], (ms, ctx) => rest(ctx, ms), { concurrency: 1, timeoutMs: 100 }),
    );
    await clock.advance(180);
    expect(await all).toEqual([60, 60, 60]);
  });

  it("that is over fails the stream, unless failures are values [B43]", async () => {
    const work = new Work();
    const all = outcome(collect(taskStream(system, [0, 1], work.run, { timeoutMs: 100 })));
    await clock.advance(100);
    expect(await all).toBeInstanceOf(TaskTimeoutError);
    expect(work.running).toEqual([]);
  });

  it("is 5,000 ms unless stated, and may be endless", async () => {
    const all = outcome(collect(taskStream(system, [0], hangs)));
    const endless = taskStream(system, [0], hangs, { timeoutMs: Number.POSITIVE_INFINITY });
    void endless.next();
    await clock.advance(5_000);
    expect(await all).toMatchObject({ timeoutMs: 5_000 });
    await clock.advance(1_000_000);
    await endless.return();
  });

  it("makes a value that comes too late count for nothing", async () => {
    const door = gate<number>();
    const results = collect(
      taskStream(system, [0], () => door.promise, { timeoutMs: 10, failures: "values" }),
    );
    await clock.advance(10);
    door.open(7);
    expect(await results).toMatchObject([{ ok: false, error: { code: "ERR_TASK_TIMEOUT" } }]);
  });
});

const rest = <T>(ctx: BodyContext<unknown>, value: T & number): Promise<T> =>
  new Promise((resolve) => ctx.runAfter(value, () => resolve(value)));

describe("an end before the end", () => {
  it.each<[string, (stream: TaskStream<string>) => Promise<unknown>]>([
    [
      "break",
      async (stream) => {
        for await (const _one of stream) break;
      },
    ],
    [
      "an error in the loop",
      async (stream) => {
        for await (const _one of stream) throw new Error("enough");
      },
    ],
    [
      "await using",
      async (stream) => {
        await using own = stream;
        await own.next();
      },
    ],
    [
      "throw",
      async (stream) => {
        await stream.next();
        await stream.throw(new Error("enough"));
      },
    ],
  ])("by %s kills all tasks and closes the input, once [B44]", async (_how, consume) => {
    const counter = new Counter();
    const work = new Work();
    const stream = taskStream(system, counter, work.run, { concurrency: 4 });
    const end = outcome(consume(stream));
    await system.idle();
    await work.finish(0);
    await end;
    expect([work.running, counter.returned, system.population]).toEqual([[], 1, 0]);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    await stream.return();
    expect(counter.returned).toBe(1);
  });

  it("by an abort rejects with its reason, at once and for good [B44]", async () => {
    const counter = new Counter();
    const work = new Work();
    const abort = new AbortController();
    const stream = taskStream(system, counter, work.run, { signal: abort.signal });
    const next = outcome(stream.next());
    await system.idle();
    abort.abort(new Error("changed my mind"));
    expect(await next).toMatchObject({ message: "changed my mind" });
    expect([work.running, counter.returned]).toEqual([[], 1]);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    const late = taskStream(system, counter, work.run, { signal: abort.signal });
    expect(await outcome(late.next())).toMatchObject({ message: "changed my mind" });
  });

  it("by an abort between two calls is seen by the next one, and drops what waits", async () => {
    const abort = new AbortController();
    const counter = new Counter();
    const stream = taskStream(system, counter, (n) => n, { signal: abort.signal, concurrency: 3 });
    await stream.next();
    await system.idle();
    abort.abort(new Error("changed my mind"));
    await system.idle();
    expect([system.population, counter.returned]).toEqual([0, 1]);
    expect(await outcome(stream.next())).toMatchObject({ message: "changed my mind" });
    expect(await stream.next()).toMatchObject({ done: true });
  });

  it.each(["normal", "shutdown", "kill", new Error("no desk")] as const)(
    "by an end of the owner (%s) ends all [B44]",
    async (reason) => {
      const counter = new Counter();
      const work = new Work();
      const owner = puppet(system);
      await owner.do((ctx) => void outcome(taskStream(ctx, counter, work.run).next()));
      await system.idle();
      expect(work.running).toHaveLength(16);
      system.send(owner.pid, (ctx) => ctx.exit(reason));
      await system.idle();
      expect([work.running, counter.returned, system.population]).toEqual([[], 1, 0]);
    },
  );

  it("by a kill of its process is an error, and no task is left", async () => {
    const work = new Work();
    const stream = taskStream(system, new Counter(), work.run);
    const next = outcome(stream.next());
    await system.idle();
    const process = system.processes().find(({ label }) => label === "task stream");
    system.exit(process as never, "kill");
    expect(await next).toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "killed" } });
    expect(work.running).toEqual([]);
    expect(await stream.next()).toMatchObject({ done: true });
  });

  it("waits for the input to be closed, at most 5,000 ms, and passes on what that throws", async () => {
    const door = gate();
    const closing = (close: () => unknown): AsyncIterable<number> => ({
      [Symbol.asyncIterator]: () =>
        ({ next: async () => ({ done: false, value: 1 }), return: close }) as never,
    });
    const closed: string[] = [];
    const end = async (name: string, close: () => unknown): Promise<void> => {
      const stream = taskStream(system, closing(close), (n) => n);
      await stream.next();
      await system.idle();
      await stream.return().catch((error) => closed.push(error.message));
      closed.push(name);
    };
    const slow = end("slow", () => door.promise);
    const hanging = end("hanging", hangs);
    await end("throws", () => {
      throw new Error("no door");
    });
    await end("rejects", () => Promise.reject(new Error("no key")));
    expect(closed).toEqual(["no door", "throws", "no key", "rejects"]);
    door.open();
    await slow;
    await clock.advance(4_999);
    expect(closed).toHaveLength(5);
    await clock.advance(1);
    await hanging;
    expect(closed[5]).toBe("hanging");
  });

  it("does not wait for an input that is still asked for an item", async () => {
    let finished = false;
    const stream = taskStream(
      system,
      (async function* () {
        try {
          yield 1;
          await hangs();
        } finally {
          finished = true;
        }
      })(),
      (n) => n,
    );
    for await (const one of stream) {
      expect(one).toBe(1);
      await system.idle();
      break;
    }
    expect([finished, system.population]).toEqual([false, 0]);
  });
});

describe("an input that misbehaves", () => {
  const thrower = (): never => {
    throw new Error("no input");
  };
  it.each<[string, unknown]>([
    ["throws when it is opened", { [Symbol.iterator]: thrower }],
    ["gives no iterator", { [Symbol.iterator]: () => undefined }],
    ["throws when it is asked", { [Symbol.iterator]: () => ({ next: thrower }) }],
    ["has no next", { [Symbol.iterator]: () => ({}) }],
    ["rejects", { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("no input")) }) }],
    ["answers nonsense", { [Symbol.iterator]: () => ({ next: () => 7 }) }],
    ["answers nonsense later", { [Symbol.asyncIterator]: () => ({ next: async () => undefined }) }],
    [
      "throws when its answer is read",
      {
        [Symbol.iterator]: () => ({
          next: () => ({
            done: false,
            get value() {
              return thrower();
            },
          }),
        }),
      },
    ],
    [
      "throws when its later answer is read",
      {
        [Symbol.asyncIterator]: () => ({
          next: async () => ({
            get done() {
              return thrower();
            },
          }),
        }),
      },
    ],
    [
      "has a `then` that throws",
      {
        [Symbol.iterator]: () => ({
          next: () => Object.defineProperty({}, THEN, { get: thrower }),
        }),
      },
    ],
  ])("and %s fails the stream, and nothing else", async (_how, input) => {
    const stream = taskStream(system, input as Iterable<number>, (n) => n);
    const error = await outcome(stream.next());
    expect(error).toBeInstanceOf(Error);
    expect(await stream.next()).toMatchObject({ done: true });
    expect(reports).toEqual([]);
  });

  it("after some items fails the stream behind their results, and is not closed", async () => {
    let returned = 0;
    const input = {
      *[Symbol.iterator]() {
        try {
          yield 1;
          yield 2;
          throw new Error("no more");
        } finally {
          returned++;
        }
      },
    };
    const seen: unknown[] = [];
    const stream = taskStream(system, input, (n) => n, { concurrency: 1, ordered: false });
    const all = (async () => {
      for await (const one of stream) seen.push(one);
    })();
    expect(await outcome(all)).toMatchObject({ message: "no more" });
    expect([seen, returned]).toEqual([[1, 2], 1]);
  });
});

describe("bad input", () => {
  it.each<[string, () => unknown, string]>([
    ["no owner", () => taskStream(undefined as never, [], hangs), "owner"],
    ["an input that is none", () => taskStream(system, 7 as never, hangs), "inputs"],
    ["no input", () => taskStream(system, undefined as never, hangs), "inputs"],
    ["no function", () => taskStream(system, [], undefined as never), "fn"],
    ["no tasks at all", () => taskStream(system, [], hangs, { concurrency: 0 }), "concurrency"],
    [
      "less ahead than at once",
      () => taskStream(system, [], hangs, { concurrency: 4, maxAhead: 3 }),
      "maxAhead",
    ],
    ["an order that is none", () => taskStream(system, [], hangs, { ordered: "yes" as never }), "ordered"],
    ["a time that is none", () => taskStream(system, [], hangs, { timeoutMs: -1 }), "timeoutMs"],
    ["other failures", () => taskStream(system, [], hangs, { failures: "ignore" as never }), "failures"],
    ["a signal that is none", () => taskStream(system, [], hangs, { signal: {} as never }), "signal"],
    ["an empty label", () => taskStream(system, [], hangs, { label: "" }), "label"],
    ["an unknown option", () => taskStream(system, [], hangs, { concurency: 3 } as object), "concurency"],
  ])("%s is an OptionError", (_what, attempt, path) => {
    expect(attempt).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
  });

  it("a wait by another process is refused", async () => {
    const stream = taskStream(system, [1], (n) => n);
    const other = puppet(system);
    expect(await other.do(() => outcome(stream.next()))).toMatchObject({ code: "ERR_TASK_OWNER" });
    expect(await stream.next()).toMatchObject({ value: 1 });
    await stream.return();
  });

  it("an owner that has exited is refused, and a system that has stopped", async () => {
    const owner = puppet(system);
    const ctx = await owner.do((own) => own);
    const stream = taskStream(ctx, [1], (n) => n);
    system.exit(owner.pid, "kill");
    await expect(stream.next()).rejects.toMatchObject({ code: "ERR_PROCESS_EXITED" });
    expect(() => taskStream(ctx, [1], (n) => n)).toThrow(
      expect.objectContaining({ code: "ERR_PROCESS_EXITED" }),
    );
    const late = taskStream(system, [1], (n) => n);
    await system.stop();
    await expect(late.next()).rejects.toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
  });
});
