// A worker at work, in virtual time: its attempts share one timer, and what is done is settled while others are in work.

import { definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { type Simulation, simulate } from "signalbox/testing";
import { expect, test } from "vitest";

const jobs = queue<number>("jobs");

/** Starts a route whose messages are how long they take, in milliseconds. */
async function started(
  sim: Simulation,
  values: readonly number[],
  ended: (took: number, why: string) => void,
) {
  const retry = { attempts: 1 };
  const wait = route("wait", { from: jobs, timeoutMs: 100, retry }).via("wait", async (ms, ctx) => {
    const { env } = ctx.kernel;
    const began = env.now();
    ctx.signal.addEventListener("abort", () => ended(env.now() - began, String(ctx.signal.reason)));
    if (ms > 0) await ctx.sleep(ms);
    if (!ctx.signal.aborted) ended(env.now() - began, "");
  });
  const pipeline = definePipeline("waiting", { routes: [wait] });
  const host = await sim.system({ name: "shop" }).start(pipelineHost({ pipelines: [pipeline] }));
  return host.start(pipeline, { messages: { to: jobs, values } });
}

test("each attempt of a worker has its whole time, and no more [Y45]", async () => {
  await simulate(async (sim) => {
    const took: [number, boolean][] = [];
    const run = await started(sim, [5_000, 60, 70, 99, 5_000, 60, 99], (ms, why) =>
      took.push([ms, why !== ""]),
    );
    expect(await run.completed()).toMatchObject({ done: 7, dead: 2 });
    expect(took).toEqual([
      [100, true],
      [60, false],
      [70, false],
      [99, false],
      [100, true],
      [60, false],
      [99, false],
    ]);
  });
});

test("finished work of a worker is settled while it waits for the next adapter [Y46]", async () => {
  await simulate(async (sim) => {
    const run = await started(sim, [0, 0, 50, 90], () => undefined);
    const done: number[] = [];
    for (const ms of [10, 50, 70]) {
      await sim.sleep(ms);
      const progress = await run.progress();
      done.push(progress.done);
      // What it has in hand waits for it: it works on one message at a time.
      expect(progress.routes).toMatchObject([{ working: 1, limit: 1 }]);
    }
    expect(done).toEqual([2, 3, 3]);
    expect(await run.completed()).toMatchObject({ done: 4, dead: 0 });
  });
});
