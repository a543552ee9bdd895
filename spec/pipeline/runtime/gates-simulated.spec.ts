// The gates under the simulator: whoever is killed while it works or waits, permits come back once, and everybody comes in at last.

import { definePipeline, many, pipelineHost, queue, route } from "signalbox/pipeline";
import type { Simulation } from "signalbox/testing";
import { expect, test } from "vitest";
import { Permits } from "../../../lib/pipeline/runtime/permits.js";
import type { Kernel } from "../../../lib/process/kernel.js";
import { explored } from "../../support/proof.js";

/** Workers that come in, work for a while and leave, some times each; any of them may be killed, at work or in the queue. */
async function queued(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "shop" });
  const { kernel } = system as unknown as { readonly kernel: Kernel };
  const permits = new Permits(kernel, {
    inFlight: 3,
    routes: new Map([
      ["a", 2],
      ["b", 2],
    ]),
  });
  let [most, finished, killed] = [0, 0, 0];
  system.events.on("exit", ({ reason }) => {
    if (reason.type === "killed") killed++;
    else if (reason.type === "normal") finished++;
  });
  const pids = ["a", "b", "a", "b", "a", "b"].map((name) =>
    system.spawn(
      async (ctx) => {
        for (let i = 0; i < 3; i++) {
          await new Promise<void>((resolve) => {
            if (permits.enter(ctx.self, name, resolve)) resolve();
          });
          most = Math.max(most, permits.counts.holding);
          await sim.sleep(1);
          permits.leave(ctx.self);
        }
      },
      { label: "worker" },
    ),
  );
  await sim.sleep(1_000);
  expect(pids.filter((pid) => system.isAlive(pid))).toEqual([]);
  expect([permits.counts, most <= 3, finished + killed]).toEqual([{ holding: 0, waiting: 0 }, true, 6]);
}

test("a worker that is killed while it waits takes no permit, and one that works gives its own back once (bugs 23, 24)", async () => {
  await explored(queued, {
    quick: 25,
    seed: 1,
    faults: { crash: [{ of: "shop/worker", atMost: 4, reason: "kill" }] },
  });
});

/** Three routes in a row, each limited by all four gates as far as can be. */
async function crowded(sim: Simulation): Promise<void> {
  const [first, second, third] = ["first", "second", "third"].map((name) => queue<number>(name)) as [
    ReturnType<typeof queue<number>>,
    ReturnType<typeof queue<number>>,
    ReturnType<typeof queue<number>>,
  ];
  const limits = {
    concurrency: 2,
    prefetch: 2,
    highWaterMark: 2,
    fanOut: 1,
    retry: { attempts: 1_000, backoff: { minMs: 1, maxMs: 5 } },
  };
  const twice = route("twice", { from: first, ...limits })
    .via("twice", async (n, ctx) => {
      await ctx.sleep(1);
      return many([n, -n]);
    })
    .to(second);
  const pass = route("pass", { from: second, ...limits })
    .via("pass", (n) => n)
    .to(third);
  const end = route("end", { from: third, ...limits }).via("end", (_n, ctx) => ctx.sleep(2));
  const pipeline = definePipeline("crowded", { routes: [twice, pass, end], inFlight: 2 });
  const host = await sim.system({ name: "shop" }).start(pipelineHost({ pipelines: [pipeline] }));
  const run = await host.start(pipeline, { messages: { to: first, values: [1, 2, 3] } });
  expect(await run.completed({ timeoutMs: 60_000 })).toMatchObject({ done: 15, dead: 0, pending: 0 });
}

test("routes at their limits at all four gates do not lock each other, whichever worker is killed (bugs 24, 25)", async () => {
  await explored(crowded, {
    quick: 25,
    seed: 1,
    faults: { crash: [{ of: "shop/**/worker of *", atMost: 4, reason: "kill" }] },
  });
});
