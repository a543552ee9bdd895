// Pools of real threads: what a job gives, and what becomes of it when its worker ends.

import {
  CallTimeoutError,
  inspect,
  OptionError,
  type RestartReport,
  StartError,
  supervisor,
} from "signalbox";
import {
  JobDeadlineError,
  JobLostError,
  NotCloneableError,
  PoolFullError,
  PoolStoppingError,
  pool,
  UnknownJobError,
  WorkerExitedError,
  WorkerFileError,
} from "signalbox/service";
import { describe, expect, it } from "vitest";
import { until } from "../../support/until.js";
import { begun, bench, errorOf, file, TOOLS, type Tools } from "./support.js";

const on = bench();

describe("a job", () => {
  it("gets its arguments and gives its result", async () => {
    const tools = await on.start<Tools>(TOOLS);
    expect(await tools.run.add(1, 2)).toBe(3);
    expect(await tools.run.add(1)).toBe(2);
  });

  it("may be the default function, and a function of a CommonJS file", async () => {
    const main = await on.start<{ default(n: number): number }>(file("export default (n) => n + 1;"));
    expect([await main.run(1), await main.run.default(2)]).toEqual([2, 3]);
    const common = await on.start<{ resolve(...parts: string[]): string }>("node:path");
    expect(await common.run.resolve("/a", "b")).toBe("/a/b");
  });

  it("runs on as many threads as there are", async () => {
    const tools = await on.start<Tools>(TOOLS, { size: 2 });
    const one = begun();
    const other = begun();
    const stop = new AbortController();
    const waits = [one, other].map(({ onProgress }) =>
      errorOf(tools.with({ onProgress, signal: stop.signal }).run.wait()),
    );
    await Promise.all([one.promise, other.promise]);
    expect(await tools.stats()).toMatchObject({ ready: 2, running: 2, queued: 0, demand: 0 });
    stop.abort();
    expect((await Promise.all(waits)).map(({ name }) => name)).toEqual(["AbortError", "AbortError"]);
  });

  it("runs beside others in one thread if the pool allows it", async () => {
    const tools = await on.start<Tools>(TOOLS, { concurrency: 2 });
    const first = begun();
    const waits = tools.with({ onProgress: first.onProgress, timeoutMs: 60_000 }).run.wait();
    await first.promise;
    expect(await tools.run.add(2)).toBe(3);
    tools.pid.process?.kernel.end(tools.pid.process, { type: "killed" });
    expect((await errorOf(waits)).name).toBe("CalleeExitedError");
  });

  it("moves objects there and back instead of cloning them", async () => {
    interface Bytes {
      grow(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>;
    }
    const bytes = await on.start<Bytes>(
      file(
        "export function grow(b) { const c = new Uint8Array(b.length + 1); this.transfer(c.buffer); return c; }",
      ),
    );
    const given = new Uint8Array(7);
    const got = await bytes.with({ transfer: [given.buffer] }).run.grow(given);
    expect([given.byteLength, got.byteLength]).toEqual([0, 8]);
  });

  it("rejects with what its function threw: class name, message, stack, cause and own properties [W6]", async () => {
    const broken = await on.start<{ pay(): void; text(): void; many(): void }>(
      file(`class CardError extends Error {}
        export const pay = () => {
          const error = new CardError("declined", { cause: new RangeError("limit") });
          throw Object.assign(error, { status: 402, retry: () => undefined });
        };
        export const text = () => { throw { plain: true }; };
        export const many = () => { const e = new AggregateError([new TypeError("a")], "all"); e.errors.push(e); throw e; };`),
    );
    const error = await errorOf(broken.run.pay());
    expect(error).toMatchObject({ name: "CardError", message: "declined", status: 402 });
    expect(error).toBeInstanceOf(Error);
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(error.stack).toContain("CardError: declined\n    at Object.pay");
    expect(error.stack).not.toContain("worker eval");
    expect(Object.keys(error)).toEqual(["status"]);
    expect(await errorOf(broken.run.text())).toEqual({ plain: true });
    const many = await errorOf(broken.run.many());
    expect(many).toBeInstanceOf(AggregateError);
    expect(many.errors).toMatchObject([{ name: "TypeError", message: "a" }]);
  });

  it("names the part that cannot be sent, and its worker goes on [W7]", async () => {
    const odd = await on.start<{ give(): object; take(value: unknown): number }>(
      file("export const give = () => ({ a: new Map([[1, [() => 1]]]) }); export const take = () => 1;"),
    );
    const given = await errorOf(odd.run.give());
    expect(given).toBeInstanceOf(NotCloneableError);
    expect(given).toMatchObject({ code: "ERR_NOT_CLONEABLE", path: "result.a[0][1][0]" });
    const taken = await errorOf(odd.run.take({ list: [1, { "a b": Symbol("x") }] }));
    expect(taken).toMatchObject({ path: 'args[0].list[1]["a b"]' });
    expect(await odd.run.take(1)).toBe(1);
    expect(on.exits).toEqual([]);
  });

  it.each([
    [
      "a getter that throws",
      {
        list: [
          {
            get price() {
              throw new Error("no price");
            },
          },
        ],
      },
      "args[0].list[0].price",
    ],
    [
      "a Proxy that refuses everything",
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("no keys");
          },
        },
      ),
      "args[0]",
    ],
    ["a circle with a function in it", Object.assign([] as unknown[], { 0: 1, 1: () => 1 }), "args[0][1]"],
    ["a value of a set", new Set([new WeakMap()]), "args[0][0]"],
  ])("does not send %s, and its worker goes on", async (_what, hostile, path) => {
    const tools = await on.start<{ add(value: unknown): unknown }>(TOOLS);
    expect(await errorOf(tools.run.add(hostile))).toMatchObject({ code: "ERR_NOT_CLONEABLE", path });
    expect(on.exits).toEqual([]);
  });

  it("that throws something hostile is over, and its worker goes on", async () => {
    const hostile = await on.start<Record<"getters" | "proxy" | "circle" | "nothing" | "symbol", () => void>>(
      file(`const boom = () => { throw new Error("boom"); };
        export const getters = () => { throw Object.defineProperties(new Error("x"), { message: { get: boom }, name: { get: boom } }); };
        export const proxy = () => { throw new Proxy({}, { get: boom, getPrototypeOf: boom }); };
        export const circle = () => { const error = new Error("a"); error.cause = error; error.__proto__ = { then: 1 }; throw error; };
        export const nothing = () => { throw undefined; };
        export const symbol = () => { throw Symbol("s"); };`),
    );
    expect(await errorOf(hostile.run.getters())).toBe("a value that cannot be read was thrown");
    expect(await errorOf(hostile.run.proxy())).toBe("a value that cannot be read was thrown");
    expect(await errorOf(hostile.run.circle())).toMatchObject({ message: "a" });
    expect(await errorOf(hostile.run.nothing())).toBe(undefined);
    expect(await errorOf(hostile.run.symbol())).toBe("Symbol(s)");
    expect(on.exits).toEqual([]);
  });

  it("can be seen from outside while it runs", async () => {
    const tools = await on.start<Tools>(TOOLS);
    const first = begun();
    const stop = new AbortController();
    const wait = errorOf(tools.with({ onProgress: first.onProgress, signal: stop.signal }).run.wait());
    await first.promise;
    const state = await inspect(on.system, tools.pid).state();
    expect(state).toMatchObject({ file: TOOLS, running: 1, jobs: ["wait"] });
    stop.abort();
    await wait;
  });

  it("is refused if the file has no such function", async () => {
    const tools = await on.start<{ subtract(): void }>(TOOLS);
    expect(await errorOf(tools.run.subtract())).toBeInstanceOf(UnknownJobError);
    expect(await errorOf((tools.run as unknown as { toString(): Promise<never> }).toString())).toBeInstanceOf(
      UnknownJobError,
    );
    expect(await tools.stats()).toMatchObject({ running: 0, demand: 1 });
  });

  it("is refused when the queue is full", async () => {
    const tools = await on.start<Tools>(TOOLS, { maxQueue: 1 });
    const first = begun();
    const stop = new AbortController();
    const waits = tools
      .with({ onProgress: first.onProgress, signal: stop.signal, killOnAbort: true })
      .run.wait();
    waits.catch(() => undefined);
    await first.promise;
    const queued = tools.run.add(1);
    const refused = await errorOf(tools.run.add(2));
    expect(refused).toBeInstanceOf(PoolFullError);
    expect(refused).toMatchObject({ code: "ERR_POOL_FULL", maxQueue: 1 });
    const patient = tools.with({ whenFull: "wait" }).run.add(3);
    stop.abort();
    expect(await Promise.all([queued, patient])).toEqual([2, 4]);
  });
});

describe("a worker", () => {
  it("is killed by the deadline of its job and replaced; the caller gets an error, or another worker runs the job [W3]", async () => {
    const tools = await on.start<Tools>(TOOLS);
    const before = await tools.run.thread();
    const told = await errorOf(tools.with({ deadlineMs: 20 }).run.loop());
    expect(told).toBeInstanceOf(JobDeadlineError);
    expect(told).toMatchObject({ code: "ERR_JOB_DEADLINE", deadlineMs: 20, attempts: 1 });
    expect(on.exits).toEqual(["killed"]);
    expect(await errorOf(tools.with({ deadlineMs: 20, maxAttempts: 3 }).run.loop())).toMatchObject({
      attempts: 3,
    });
    expect(on.exits).toEqual(["killed", "killed", "killed", "killed"]);
    expect(await tools.run.thread()).not.toBe(before);
  });

  it("that ends by itself exits with its reason, and its caller gets an error [W4]", async () => {
    const ends = await on.start<Record<"exit" | "late" | "memory", () => Promise<void>>>(
      file(`export const exit = () => process.exit(3);
        export const late = () => { setImmediate(() => { throw new TypeError("late"); }); return new Promise(() => {}); };
        export const memory = () => { const all = []; for (;;) all.push(new Array(10_000).fill(all.length)); };`),
      { resourceLimits: { maxOldGenerationSizeMb: 16 } },
    );
    const exit = await errorOf(ends.run.exit());
    expect(exit).toBeInstanceOf(JobLostError);
    expect(exit).toMatchObject({ code: "ERR_JOB_LOST", attempts: 1, reason: { type: "crash" } });
    expect(exit.cause).toBeInstanceOf(WorkerExitedError);
    expect(exit.cause).toMatchObject({ exitCode: 3 });
    expect((await errorOf(ends.run.late())).cause).toMatchObject({
      cause: { name: "TypeError", message: "late" },
    });
    const memory = await errorOf(ends.run.memory());
    expect(memory.cause).toMatchObject({ cause: { code: "ERR_WORKER_OUT_OF_MEMORY" } });
    expect(on.exits).toEqual(["crash", "crash", "crash"]);
  });

  it("that ends while it is idle is replaced and reported", async () => {
    const late = await on.start<{ later(): string }>(
      file(`export const later = () => { setTimeout(() => process.exit(5), 1); return "said"; };`),
    );
    const restarted = new Promise<RestartReport>((resolve) => on.system.events.on("restart", resolve));
    expect(await late.run.later()).toBe("said");
    const { id, reason, intensityLeft } = await restarted;
    expect({ id, intensityLeft }).toEqual({ id: "worker-1", intensityLeft: 2 });
    expect(reason).toMatchObject({ type: "crash", error: { exitCode: 5 } });
    expect(await late.run.later()).toBe("said");
  });

  it("that ends does not lose the answers it has given", async () => {
    const last = await on.start<{ last(): Promise<string> }>(
      file(`export async function last() { setImmediate(() => process.exit(0)); return "said"; }`),
    );
    expect(await last.run.last()).toBe("said");
  });

  it("is replaced after some jobs, or when its heap is large", async () => {
    const few = await on.start<Tools>(TOOLS, { maxJobs: 2 });
    const [a, b, c] = [await few.run.thread(), await few.run.thread(), await few.run.thread()];
    expect([a === b, b === c]).toEqual([true, false]);
    const small = await on.start<Tools>(TOOLS, { maxHeapMb: 0.001 });
    expect(await small.run.thread()).not.toBe(await small.run.thread());
  });

  it("above the least number ends when it is idle", async () => {
    const tools = await on.start<Tools>(TOOLS, { size: 2, minSize: 0, idleMs: 1 });
    await until(async () => (await tools.stats()).workers === 0);
    expect(on.exits).toEqual(["shutdown"]);
    expect(await tools.run.add(1)).toBe(2);
  });

  it("runs its timers, also while no job comes and while jobs come without a pause [W11]", async () => {
    const timers = await on.start<{ begin(flag: Int32Array): void; ticks(): number }>(
      file(`let n = 0;
        export const begin = (flag) => void setInterval(() => { n++; Atomics.store(flag, 0, 1); }, 1);
        export const ticks = () => n;`),
    );
    const flag = new Int32Array(new SharedArrayBuffer(4));
    await timers.run.begin(flag);
    await until(() => Atomics.load(flag, 0) !== 0);
    const first = await timers.run.ticks();
    for (let ticks = first; ticks < first + 3; ticks = await timers.run.ticks());
  });
});

/** Worker files, and what the error says of them. */
const UNUSABLE: readonly (readonly [string, string, RegExp])[] = [
  ["is missing", "file:///no/such/file.js", /could not be loaded/],
  ["throws", file(`throw new RangeError("no table");`), /could not be loaded/],
  ["exports no function", file("export const a = 1;"), /exports no function/],
  ["ends its thread", file("process.exit(4);"), /ended its thread while it was loaded/],
  ["is loaded for ever", file("for (;;);"), /was not loaded within 200 ms/],
];

describe("a worker file", () => {
  it.each(UNUSABLE)("that %s fails the start, once [W5]", async (_what, code, text) => {
    let workers = 0;
    on.system.events.on("spawn", ({ pid }) => {
      if (pid.label === "worker") workers++;
    });
    const isEndless = code.includes("for");
    const error = await errorOf(on.start(code, isEndless ? { startTimeoutMs: 200 } : {}));
    expect(error).toBeInstanceOf(StartError);
    expect(error.cause).toBeInstanceOf(WorkerFileError);
    expect(error.cause).toMatchObject({
      code: "ERR_WORKER_FILE",
      file: code,
      message: expect.stringMatching(text),
    });
    expect(workers).toBe(1);
  });

  it("that is gone later ends the pool by its intensity, and its supervisor decides", async () => {
    const fragile = file(`import { threadId } from "node:worker_threads";
      const kept = globalThis.process.env;
      if (kept.SIGNALBOX_POOL_TEST) throw new Error("gone");
      export const end = () => process.exit(0);`);
    const shop = await on.system.start(
      supervisor({
        intensity: 0,
        children: [{ id: "pool", start: pool(fragile, { size: 1, intensity: 2, name: "fragile" }) }],
      }),
    );
    process.env.SIGNALBOX_POOL_TEST = "gone";
    try {
      const ended = on.system.exited(shop.pid);
      const lost = await errorOf(pool<{ end(): void }>(fragile).at(on.system, "fragile").run.end());
      expect(lost).toBeInstanceOf(JobLostError);
      expect(await ended).toEqual({ type: "shutdown" });
      expect(on.exits).toEqual(["crash", "crash", "crash", "crash"]);
    } finally {
      delete process.env.SIGNALBOX_POOL_TEST;
    }
  });
});

describe("a caller", () => {
  it("that gives up takes its job out of the queue; a running job goes on, or its worker is killed [W8]", async () => {
    const tools = await on.start<Tools>(TOOLS);
    const before = await tools.run.thread();
    const first = begun();
    const stop = new AbortController();
    const running = tools.with({ signal: stop.signal, onProgress: first.onProgress }).run.wait();
    running.catch(() => undefined);
    await first.promise;
    const queued = errorOf(tools.with({ timeoutMs: 1 }).run.add(1));
    expect(await queued).toBeInstanceOf(CallTimeoutError);
    expect(await tools.stats()).toMatchObject({ running: 1, queued: 0 });
    stop.abort();
    expect(await tools.run.thread()).toBe(before);
    const second = begun();
    const caller = on.system.spawn(async (ctx) => {
      await tools.with({ from: ctx, killOnAbort: true, onProgress: second.onProgress }).run.wait();
    });
    await second.promise;
    on.system.exit(caller, "kill");
    expect(await tools.run.thread()).not.toBe(before);
    expect(on.exits).toEqual(["killed"]);
  });

  it("can tell a long loop that its caller is gone", async () => {
    const busy = await on.start<{ spin(): number; rest(): string }>(
      file(`export function spin() { this.progress(1); while (!this.aborted); return 1; }
        export const rest = () => "rested";`),
    );
    const first = begun();
    const stop = new AbortController();
    const spins = errorOf(busy.with({ signal: stop.signal, onProgress: first.onProgress }).run.spin());
    await first.promise;
    stop.abort(new Error("enough"));
    expect((await spins).message).toBe("enough");
    expect(await busy.run.rest()).toBe("rested");
    expect(on.exits).toEqual([]);
  });
});

describe("a stop", () => {
  it("lets running jobs end, and refuses or runs those that wait [W9]", async () => {
    for (const drain of ["running", "all"] as const) {
      const slow = await on.start<{ slow(gate: Int32Array): Promise<number> }>(
        file(`let n = 0;
          export async function slow(gate) {
            this.progress("begun");
            while (Atomics.load(gate, 0) === 0) await new Promise(setImmediate);
            return ++n;
          }`),
        { drain },
      );
      const gate = new Int32Array(new SharedArrayBuffer(4));
      const first = begun();
      const running = slow.with({ onProgress: first.onProgress }).run.slow(gate);
      await first.promise;
      const waiting = slow.run.slow(gate).catch((error) => error);
      const gone = on.system.exited(slow.pid);
      slow.stop();
      expect(await errorOf(slow.run.slow(gate))).toBeInstanceOf(PoolStoppingError);
      Atomics.store(gate, 0, 1);
      expect(await running).toBe(1);
      expect(await waiting).toEqual(drain === "all" ? 2 : expect.any(PoolStoppingError));
      expect(await gone).toEqual({ type: "shutdown" });
    }
  });
});

describe("a stop with a limit", () => {
  it("kills the pool when its shutdown time is over, and its threads with it [W9]", async () => {
    const shop = supervisor({
      children: [{ id: "pool", start: pool(TOOLS, { size: 1, name: "tools" }), shutdown: 20 }],
    });
    await on.system.start(shop);
    const first = begun();
    const endless = pool<Tools>(TOOLS)
      .at(on.system, "tools")
      .with({ onProgress: first.onProgress })
      .run.wait();
    const lost = errorOf(endless);
    await first.promise;
    await on.system.stop();
    expect(await lost).toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "killed" } });
  });
});

describe("bad options", () => {
  it.each([
    [{ size: 0 }, "size", "a whole number, 1 or more"],
    [{ size: 1, minSize: 2 }, "minSize", "at most the size, which is 1"],
    [{ deadlineMs: 0 }, "deadlineMs", "a number of milliseconds"],
    [{ drain: "none" }, "drain", 'one of "running", "all"'],
    [
      { resourceLimits: { maxOldGenerationSizeMb: -1 } },
      "resourceLimits.maxOldGenerationSizeMb",
      "more than 0",
    ],
    [{ resourceLimits: { heap: 1 } }, "resourceLimits.heap", "absent"],
    [{ maxThreads: 2 }, "maxThreads", "absent"],
    [{ maxHeapMb: Number.NaN }, "maxHeapMb", "a number of megabytes"],
  ])("%j are refused where they stand", (options, path, allowed) => {
    const refused = (): unknown => pool(TOOLS, options as never);
    expect(refused).toThrow(OptionError);
    expect(refused).toThrow(expect.objectContaining({ path, message: expect.stringContaining(allowed) }));
  });

  it("of a job are refused too", async () => {
    expect(() => pool("./worker.js")).toThrow(/^url must be the URL of a module/);
    const tools = await on.start<Tools>(TOOLS);
    expect(() => tools.with({ deadline: 5 } as never)).toThrow(/did you mean deadlineMs/);
    expect(() => tools.with({ transfer: [new ArrayBuffer(1)], maxAttempts: 2 })).toThrow(
      /^transfer must be absent/,
    );
    expect(() => tools.with({ transfer: [1] as never })).toThrow(OptionError);
    const strict = await on.start<Tools>(TOOLS, { deadlineMs: 20 });
    const loop = strict.with({ deadlineMs: undefined } as never).run.loop();
    expect(await errorOf(loop)).toMatchObject({ deadlineMs: 20 });
  });
});
