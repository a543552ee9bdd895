// Calls that outlive their limit of time keep their place among the concurrency: those of routes and of subscribers, in virtual time.

import {
  definePipeline,
  done,
  openQueues,
  pipelineHost,
  queue,
  type RouteOptions,
  route,
} from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { type Simulation, simulate } from "signalbox/testing";
import { expect, test } from "vitest";

const jobs = queue<number>("jobs");
const once = { attempts: 1 };

/** How many calls ran at once at most, and for how many milliseconds all of them took. */
class Gauge {
  most = 0;
  #active = 0;

  async call(sim: Simulation, ms: number): Promise<void> {
    this.most = Math.max(this.most, ++this.#active);
    // It looks at no signal.
    await sim.sleep(ms);
    this.#active--;
  }
}

async function ran(
  sim: Simulation,
  options: Omit<RouteOptions<number>, "from">,
  tookMs: number,
  isBatch: boolean,
): Promise<{ most: number; dead: number; errors: readonly string[]; took: number }> {
  const gauge = new Gauge();
  const from = { from: jobs, retry: once, ...options };
  const work = isBatch
    ? route("work", from).batch("slow", { size: 2 }, async () => {
        await gauge.call(sim, tookMs);
        return undefined;
      })
    : route("work", from).via("slow", async () => {
        await gauge.call(sim, tookMs);
        return undefined;
      });
  const pipeline = definePipeline("slow", { routes: [work] });
  const host = await sim
    .system({ name: "shop" })
    .start(pipelineHost({ store: memory(), pipelines: [pipeline] }));
  const began = sim.now;
  const run = await host.start(pipeline, { messages: { to: jobs, values: [1, 2, 3, 4, 5, 6, 7, 8] } });
  const { dead } = await run.completed();
  const errors: string[] = [];
  const took = sim.now - began;
  for await (const letter of run.deadLetters()) errors.push(letter.errors.join());
  return { most: gauge.most, dead, errors, took };
}

test.each([1, 3])(
  "a route with concurrency %d has no more calls, though all outlive their limit [Y320]",
  async (concurrency) => {
    await simulate(async (sim) => {
      const { most, dead, errors } = await ran(sim, { concurrency, timeoutMs: 100 }, 5_000, false);
      expect({ most, dead }).toEqual({ most: concurrency, dead: 8 });
      for (const error of errors) expect(error).toMatch(/took longer than 100 ms/);
    });
  },
);

test("batches that outlive their limit keep their place, too [Y320]", async () => {
  await simulate(async (sim) => {
    const { most, dead } = await ran(sim, { concurrency: 1, timeoutMs: 100 }, 5_000, true);
    expect({ most, dead }).toEqual({ most: 1, dead: 8 });
  });
});

test("a call that does not end loses its place after the stated time, and another takes it [Y321]", async () => {
  await simulate(async (sim) => {
    const { dead, took } = await ran(sim, { concurrency: 1, timeoutMs: 100, overrunMs: 400 }, 1e9, false);
    expect(dead).toBe(8);
    expect(took).toBeGreaterThanOrEqual(8 * 500);
    expect(took).toBeLessThan(9 * 500);
  });
});

test("a subscriber with concurrency 1 has one handler, though all outlive their limit [Y320]", async () => {
  await simulate(async (sim) => {
    const gauge = new Gauge();
    const queues = await openQueues(sim.system({ name: "shop" }), { store: memory() });
    const letters = queues.queue<number>("letters", { attempts: 1 });
    for (const value of [1, 2, 3, 4]) await letters.publish(value);
    const subscription = await letters.subscribe({ timeoutMs: 100 }, async ({ signal }) => {
      await gauge.call(sim, 5_000);
      expect(signal.aborted).toBe(true);
      return done;
    });
    while ((await letters.counts()).dead < 4) await sim.sleep(1_000);
    expect(gauge.most).toBe(1);
    await subscription.stop();
  });
});
