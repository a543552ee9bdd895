// Steps of flows and pipelines whose work is in threads, by their option `on`: real threads.

import { type AnyFlow, defineFlow, flowHost, type StepOptions } from "signalbox/flow";
import type { Threads } from "signalbox/nodes";
import { definePipeline, queue, route, runPipeline } from "signalbox/pipeline";
import { telemetry } from "signalbox/service";
import { memory } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { until } from "../../support/until.js";
import {
  ABORTED,
  BEGUN,
  CRASHES,
  double,
  order,
  PATIENT,
  patient,
  risky,
  secret,
  waits,
} from "./programs/jobs.js";
import { workshop } from "./support.js";

const shop = workshop("threads-steps", "jobs");
const board = (crashes = 0): Int32Array => {
  const made = new Int32Array(new SharedArrayBuffer(16));
  made[CRASHES] = crashes;
  return made;
};

const FAST: StepOptions = { retry: { attempts: 3, backoff: { minMs: 1, maxMs: 5 } } };

/** A host of one flow. */
const hostOf = (flow: AnyFlow) => shop.system.start(flowHost({ store: memory(), flows: [flow] }));

const isIdle = (workers: Threads): Promise<void> =>
  until(() => workers.nodes().every(({ children }) => children === 0));

describe("a step of a flow whose job is in a thread", () => {
  it("gets its arguments, and gives its result [N1410]", async () => {
    const workers = await shop.open();
    const flow = defineFlow("compute", async (ctx, n: number) => {
      const first = await ctx.step("double", double, { on: workers, args: [n] });
      const again = await ctx.step("again", double, { on: workers, program: "double", args: [first.n] });
      const inner = await ctx.idempotent("inner", (part) =>
        part.step("double", double, { on: workers, args: [again.n] }),
      );
      return [first.n, again.n, inner.n, first.thread > 0];
    });
    const host = await hostOf(flow);
    expect(await (await host.start(flow, 1, { id: "one" })).result()).toEqual([2, 4, 8, true]);
    await isIdle(workers);
  });

  it("fails by an argument or a result that cannot travel, with its path, and is not repeated [N1411]", async () => {
    const workers = await shop.open({ size: 1 });
    const ends: string[] = [];
    await using stream = telemetry(shop.system);
    stream.subscribe("flow:step", ({ outcome }) => ends.push(outcome));
    const flow = defineFlow("compute", async (ctx) => {
      const texts: string[] = [];
      for (const value of [{ list: [() => 1] }, { sign: Symbol("s") }, 1])
        await ctx
          .step("secret", secret, {
            on: workers,
            args: [value],
            retry: { attempts: 3, backoff: { minMs: 1 } },
          })
          .catch(({ code, message }) => texts.push(`${code}: ${message}`));
      return texts;
    });
    const host = await hostOf(flow);
    const texts = await (await host.start(flow, undefined, { id: "one" })).result();
    expect(texts).toEqual([
      expect.stringContaining("ERR_NODE_UNSENDABLE: message.args[0].list[0] is the function"),
      expect.stringContaining("ERR_NODE_UNSENDABLE: message.args[0].sign is Symbol(s)"),
      expect.stringContaining("ERR_NODE_UNSENDABLE: reply is the function"),
    ]);
    expect(ends).toEqual(["failed", "failed", "failed"]);
    await isIdle(workers);
  });

  it.each(["loop", "exit", "later loop", "later exit"])(
    "is retried by its policy when it ends its thread, and others there run again without an attempt: %s [N1412]",
    async (how) => {
      const data = board(2);
      const workers = await shop.open({ data, size: 1, hungMs: 300, intensity: 10 });
      const guilty = defineFlow("guilty", (ctx, retry: boolean) =>
        ctx.step("risky", risky, { on: workers, args: [1, how], ...(retry ? FAST : {}) }),
      );
      const innocent = defineFlow("innocent", async (ctx, n: number) =>
        n === 0
          ? ctx.step("patient", patient, { on: workers, args: [21] })
          : (await ctx.step("double", double, { on: workers, args: [n] })).n,
      );
      const host = await shop.system.start(flowHost({ store: memory(), flows: [guilty, innocent] }));
      const begun = await host.start(innocent, 0, { id: "begun" });
      await until(() => Atomics.load(data, PATIENT) === 1);
      const once = await host.start(guilty, false, { id: "once" });
      await until(() => Atomics.load(data, CRASHES) === 1);
      const queued = await host.start(innocent, 2, { id: "queued" });
      await expect(once.result()).rejects.toMatchObject({ cause: { code: "ERR_CALLEE_EXITED" } });
      expect([await begun.result(), await queued.result()]).toEqual([42, 4]);
      expect(Atomics.load(data, PATIENT)).toBe(2);
      expect(await (await host.start(guilty, true, { id: "again" })).result()).toBe(2);
      expect(shop.ends).toHaveLength(2);
    },
  );

  it("aborts the signal of the job there at its time limit, and when the flow is cancelled [N1413]", async () => {
    const data = board();
    const workers = await shop.open({ data, size: 1 });
    const flow = defineFlow("waiting", (ctx, timeout: number) =>
      ctx.step("waits", waits, { on: workers, ...(timeout > 0 ? { timeout } : {}) }),
    );
    const host = await hostOf(flow);
    const limited = await host.start(flow, 50, { id: "limited" });
    await expect(limited.result()).rejects.toMatchObject({ cause: { code: "ERR_FLOW_STEP_TIMEOUT" } });
    await until(() => Atomics.load(data, ABORTED) === Atomics.load(data, BEGUN));
    const before = Atomics.load(data, BEGUN);
    const cancelled = await host.start(flow, 0, { id: "cancelled" });
    await until(() => Atomics.load(data, BEGUN) === before + 1);
    await cancelled.cancel();
    await expect(cancelled.result()).rejects.toThrow();
    await until(() => Atomics.load(data, ABORTED) === before + 1);
    await isIdle(workers);
  });

  it("refuses options that do not fit [N1415]", async () => {
    const workers = await shop.open({ size: 1 });
    const flow = defineFlow("wrong", async (ctx, at: number) => {
      const step = ctx.step as (...given: readonly unknown[]) => Promise<unknown>;
      const given: readonly (readonly unknown[])[] = [
        ["double", double],
        ["double", double, { on: {}, args: [1] }],
        ["double", double, { on: workers, args: 1 }],
        ["double", double, { on: workers, program: 7, args: [1] }],
        ["double", double, { on: workers, argument: [1] }],
        ["double", () => 1, { on: workers }],
        ["double", () => 1, { args: [1] }],
      ];
      await step.apply(ctx, given[at] as unknown[]);
    });
    const host = await hostOf(flow);
    const texts: string[] = [];
    for (let at = 0; at < 7; at++) {
      const run = await host.start(flow, at, { id: `wrong ${at}` });
      const failed = await run.result().catch((error: { cause: Error }) => error.cause);
      texts.push(String(failed));
    }
    expect(texts).toMatchInlineSnapshot(`
      [
        "OptionError: on must be where the job of step "double" runs, such as the result of threads(); got undefined",
        "OptionError: on must be what runs jobs, such as the result of threads(); got {}",
        "OptionError: args must be an array of arguments; got 1",
        "OptionError: program must be a text that is not empty; got 7",
        "OptionError: argument must be absent: there is only retry, timeout, on, program, args; got [1]",
        "OptionError: step "double" must be a job() where \`on\` says where it runs: a function cannot travel; got function (anonymous)",
        "OptionError: args must be absent: there is only retry, timeout; got [1]",
      ]
    `);
  });
});

describe("an adapter of a pipeline whose job is in a thread", () => {
  it("gets each value and gives the next, and its messages are tried again when a thread ends [N1414]", async () => {
    const workers = await shop.open({ data: board(2), size: 2, intensity: 10 });
    const got: number[] = [];
    const orders = queue<{ n: number; how: string }>("orders");
    const halving = route("halving", {
      from: orders,
      concurrency: 2,
      retry: { attempts: 3, backoff: { minMs: 1, maxMs: 5 } },
    })
      .via("half", order, { on: workers, program: "order", when: ({ n }) => n !== 6 })
      .via("keep", (half) => void got.push(typeof half === "number" ? half : half.n));
    const pipeline = definePipeline("halving", { routes: [halving] });
    const values = [1, 2, 3, 4, 6].map((n) => ({ n, how: "exit" }));
    const { done, dead } = await runPipeline(shop.system, pipeline, { messages: { to: orders, values } });
    expect([done, dead]).toEqual([5, 0]);
    expect(got.sort()).toEqual([1, 2, 6]);
    await isIdle(workers);
  });

  it("refuses options that do not fit [N1415]", () => {
    const begun = route("halving", { from: queue<number>("numbers") });
    const via = begun.via.bind(begun) as (...given: readonly unknown[]) => unknown;
    expect(() => via("double", double)).toThrow("where the job of halving.adapters[0].process runs");
    expect(() => via("double", double, { on: 7 })).toThrow("what runs jobs");
    expect(() => via("double", () => 1, { on: { run: () => 1 } })).toThrow("a function cannot travel");
    expect(() => via("double", double, { on: { run: () => 1 }, args: [] })).toThrow("args");
  });
});
