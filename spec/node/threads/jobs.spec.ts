// Jobs in threads, and steps of flows and pipelines that are such: real threads.

import { defineFlow, flowHost } from "signalbox/flow";
import { definePipeline, queue, route, runPipeline } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { until } from "../../support/until.js";
import { ABORTED, BEGUN, CRASHES } from "./programs/jobs.js";
import { workshop } from "./support.js";

const shop = workshop("threads-jobs", "jobs");
const board = (crashes = 0): Int32Array => {
  const made = new Int32Array(new SharedArrayBuffer(16));
  made[CRASHES] = crashes;
  return made;
};

describe("a job in a thread", () => {
  it("gives its result, or throws what its function throws, and leaves nothing behind [N1223]", async () => {
    const workers = await shop.open();
    const all = await Promise.all([1, 2, 3, 4].map((n) => workers.run("double", [n])));
    expect(all).toMatchObject([{ n: 2 }, { n: 4 }, { n: 6 }, { n: 8 }]);
    expect(new Set((all as { thread: number }[]).map(({ thread }) => thread)).size).toBe(2);
    await expect(workers.run("fails")).rejects.toMatchObject({ name: "RangeError", message: /not compute/ });
    await expect(workers.run("nothing")).rejects.toMatchObject({ code: "ERR_UNKNOWN_PROGRAM" });
    await until(() => workers.nodes().every(({ children }) => children === 0));
  });

  it("is withdrawn by a signal, which aborts there too [N1223]", async () => {
    const data = board();
    const workers = await shop.open({ data, size: 1 });
    const end = new AbortController();
    const waits = workers.run("waits", [], { signal: end.signal });
    await until(() => Atomics.load(data, BEGUN) === 1);
    end.abort(new Error("no more"));
    await expect(waits).rejects.toThrow("no more");
    await until(() => Atomics.load(data, ABORTED) === 1);
    await until(() => workers.nodes().every(({ children }) => children === 0));
    await expect(workers.run("waits", [], { signal: end.signal })).rejects.toThrow("no more");
    const early = new AbortController();
    const never = workers.run("waits", [], { signal: early.signal });
    early.abort(new Error("at once"));
    await expect(never).rejects.toThrow("at once");
    await until(() => workers.nodes().every(({ children }) => children === 0));
  });

  it.each(["exit", "loop"])(
    "as a step of a flow is retried when its thread ends: %s [N1224]",
    async (how) => {
      const workers = await shop.open({ data: board(2), hungMs: 500, intensity: 10 });
      const attempts: number[] = [];
      const flow = defineFlow("compute", (ctx, n: number) =>
        ctx.step(
          "risky",
          (step) => {
            attempts.push(step.attempt);
            return workers.run("risky", [n, how], { signal: step.signal });
          },
          { retry: { attempts: 10, backoff: { minMs: 1, maxMs: 5 } } },
        ),
      );
      const host = await shop.system.start(flowHost({ store: memory(), flows: [flow] }));
      const run = await host.start(flow, 21, { id: "one" });
      expect(await run.result()).toBe(42);
      // On a busy machine a thread that only waits for a core may stand still for so long, too.
      expect(attempts).toEqual(attempts.map((_, index) => index + 1));
      if (how === "exit") expect(attempts).toHaveLength(3);
      else expect(attempts.length).toBeGreaterThanOrEqual(3);
    },
  );

  it("as a step of a pipeline is retried when its thread ends [N1225]", async () => {
    const workers = await shop.open({ data: board(2), intensity: 10 });
    const got: unknown[] = [];
    const numbers = queue<number>("numbers");
    const compute = route("compute", {
      from: numbers,
      retry: { attempts: 5, backoff: { minMs: 1, maxMs: 5 } },
    })
      .via("risky", (n: number, ctx) => workers.run("risky", [n, "exit"], { signal: ctx.signal }))
      .via("keep", (n) => void got.push(n));
    const pipeline = definePipeline("compute", { routes: [compute] });
    const { done, dead } = await runPipeline(shop.system, pipeline, {
      messages: { to: numbers, values: [1, 2, 3] },
    });
    expect([done, dead]).toEqual([3, 0]);
    expect(got.sort()).toEqual([2, 4, 6]);
  });
});
