// Adaptive concurrency at work, in virtual time: against a service that is as quick as ever up to a number of calls at a time (its knee),
// and beyond that takes longer in proportion.

import { definePipeline, pipelineHost, queue, type RouteOptions, route } from "signalbox/pipeline";
import { type Simulation, simulate } from "signalbox/testing";
import { expect, test } from "vitest";

const jobs = queue<number>("jobs");

interface Seen {
  /** Most calls at a time. */
  readonly most: number;
  /** The limits that the route had, in their order. */
  readonly limits: readonly number[];
  /** What progress said in the middle. */
  readonly limit: number | undefined;
}

/** Runs a route against a service until its last message, and looks at it half-way through. */
async function played(
  sim: Simulation,
  options: Omit<RouteOptions<number>, "from">,
  tookMs: (active: number) => number,
  messages: number,
): Promise<Seen> {
  let [active, most, calls] = [0, 0, 0];
  let limit: number | undefined;
  const limits: number[] = [];
  const call = route("call", { from: jobs, ...options }).via("call", async (_n, ctx) => {
    active++;
    most = Math.max(most, active);
    if (++calls === messages / 2) limit = (await run.progress()).routes[0]?.limit;
    await ctx.sleep(tookMs(active)).finally(() => active--);
  });
  const pipeline = definePipeline("adaptive", { routes: [call], inFlight: 200 });
  const system = sim.system({ name: "shop" });
  system.events.on("concurrency", ({ to }) => limits.push(to));
  const host = await system.start(pipelineHost({ pipelines: [pipeline] }));
  const values = Array.from({ length: messages }, (_, i) => i);
  const run = await host.start(pipeline, { messages: { to: jobs, values } });
  const { done } = await run.completed();
  expect(done).toBe(messages);
  return { most, limits, limit };
}

test("an adaptive route finds the knee of a service and stays there, within its dead band [Y44]", async () => {
  await simulate(async (sim) => {
    const knee = 10;
    const tookMs = (active: number): number => 10 * Math.max(1, active / knee);
    const adaptive = { targetMs: 20 };
    const seen = await played(sim, { concurrency: 100, adaptive }, tookMs, 800);
    // 16 calls at a time take 0.8 of the target, 20 take the target.
    expect(seen.limits.slice(0, 4)).toEqual([2, 4, 8, 16]);
    expect(Math.max(...seen.limits.slice(4))).toBeLessThanOrEqual(32);
    expect(seen.limit).toBeGreaterThanOrEqual(14);
    expect(seen.limit).toBeLessThanOrEqual(20);
    expect(seen.limits.at(-1)).toBe(seen.limit);
    expect(seen.most).toBeLessThanOrEqual(32);
  });
});

test("an adaptive route really works on no more messages than its limit, down to one", async () => {
  await simulate(async (sim) => {
    const seen = await played(sim, { concurrency: 50, adaptive: { targetMs: 5 } }, () => 10, 100);
    expect(seen).toEqual({ most: 1, limits: [], limit: 1 });
  });
});

test("an adaptive route whose calls all take too long falls to one worker, and goes on (bug 29)", async () => {
  await simulate(async (sim) => {
    let calls = 0;
    const tookMs = (): number => (++calls <= 100 || calls > 300 ? 1 : 1_000);
    const retry = { attempts: 1_000, backoff: { minMs: 1, maxMs: 1 } };
    const options = { concurrency: 20, adaptive: { targetMs: 50 }, timeoutMs: 100, retry };
    const seen = await played(sim, options, tookMs, 400);
    expect(Math.max(...seen.limits)).toBe(20);
    expect(Math.min(...seen.limits.slice(seen.limits.indexOf(20)))).toBe(1);
    expect(seen.limits.at(-1)).toBeGreaterThan(1);
  });
});
