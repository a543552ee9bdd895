// Circuit breakers of routes at work, in virtual time, against a service that is down for a while.

import {
  type BatchContext,
  definePipeline,
  httpRequest,
  type PipelineRun,
  pipelineHost,
  queue,
  type RouteOptions,
  route,
} from "signalbox/pipeline";
import { type Simulation, simulate } from "signalbox/testing";
import { expect, test } from "vitest";
import { explored } from "../../support/proof.js";

const inbox = queue<number>("inbox");
const jobs = queue<number>("jobs");
const notes = queue<number>("notes");

const BREAKER = { windowCalls: 4, minimumCalls: 4, backoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 } };
const RETRY = { attempts: 5, backoff: { minMs: 10, maxMs: 10 } };
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** A service that fails until some time, and counts its calls. */
class Service {
  readonly #upMs: number;
  readonly #callMs: number;
  readonly times: number[] = [];
  active = 0;
  /** Most calls at a time since the breaker opened for the first time. */
  mostSince = 0;
  isOpened = false;
  constructor(upMs: number, callMs = 10) {
    this.#upMs = upMs;
    this.#callMs = callMs;
  }
  async call(ctx: Pick<BatchContext, "kernel" | "sleep">): Promise<void> {
    const { env } = ctx.kernel;
    this.times.push(env.now());
    this.active++;
    if (this.isOpened && env.now() < this.#upMs) this.mostSince = Math.max(this.mostSince, this.active);
    await ctx.sleep(this.#callMs).finally(() => this.active--);
    if (env.now() < this.#upMs) throw new Error("down");
  }
}

/** Starts a route that calls a service, and one beside it that does not. */
async function started(
  sim: Simulation,
  service: Service,
  options: Omit<RouteOptions<number>, "from">,
  count = 40,
): Promise<{
  readonly run: PipelineRun;
  readonly states: string[];
  readonly attempts: number[];
  noted(): number;
}> {
  const states: string[] = [];
  const attempts: number[] = [];
  let noted = 0;
  const split = route("split", { from: inbox })
    .via("split", (n) => n)
    .to(jobs)
    .to(notes);
  const call = route("call", { from: jobs, retry: RETRY, breaker: BREAKER, ...options }).via(
    "call",
    async (_n, ctx) => {
      await service.call(ctx);
      attempts.push(ctx.attempt);
    },
  );
  const note = route("note", { from: notes }).via("note", () => void noted++);
  const pipeline = definePipeline("calling", { routes: [split, call, note] });
  const system = sim.system({ name: "shop" });
  system.events.on("breaker", ({ to }) => {
    states.push(to);
    service.isOpened = true;
  });
  const host = await system.start(pipelineHost({ pipelines: [pipeline] }));
  const run = await host.start(pipeline, { messages: { to: inbox, values: numbers(count) } });
  return { run, states, attempts, noted: () => noted };
}

test("while a breaker is open its route's messages wait, untried, and other routes go on (bug 27) [Y47]", async () => {
  await simulate(async (sim) => {
    const service = new Service(3_500);
    const { run, states, attempts, noted } = await started(sim, service, { concurrency: 4 });
    await sim.sleep(900);
    const { routes, done, dead } = await run.progress();
    expect(routes.find((one) => one.route === "call")).toMatchObject({
      route: "call",
      working: 0,
      broken: ["call"],
    });
    expect([service.times.length, noted(), done, dead]).toEqual([4, 40, 80, 0]);
    expect(await run.completed()).toMatchObject({ done: 120, dead: 0 });
    // The four that opened it, and three probes: nobody else was tried while the service was down.
    expect(attempts.filter((attempt) => attempt > 1).length).toBeLessThanOrEqual(7);
    expect(service.times.filter((at) => at < 3_500)).toHaveLength(7);
    expect(states.slice(0, 2).concat(states.slice(-2))).toEqual(["open", "half-open", "half-open", "closed"]);
  });
});

test("a half-open breaker lets one probe through, whatever waits (bug 28) [Y48]", async () => {
  await simulate(async (sim) => {
    const service = new Service(2_500, 50);
    const { run } = await started(sim, service, { concurrency: 30 });
    expect(await run.completed()).toMatchObject({ done: 120, dead: 0 });
    const later = service.times.filter((at) => at >= 100 && at < 2_500);
    expect([later.length, service.mostSince]).toEqual([2, 1]);
  });
});

test("executions of a host share a breaker, and its probes", async () => {
  await simulate(async (sim) => {
    const service = new Service(2_500, 50);
    const call = route("call", { from: jobs, concurrency: 5, retry: RETRY, breaker: BREAKER }).via(
      "call",
      (_n, ctx) => service.call(ctx),
    );
    const pipeline = definePipeline("calling", { routes: [call] });
    const system = sim.system({ name: "shop" });
    const host = await system.start(pipelineHost({ pipelines: [pipeline] }));
    const runs = await Promise.all(
      ["a", "b", "c"].map((id) => host.start(pipeline, { id, messages: { to: jobs, values: numbers(10) } })),
    );
    const ends = await Promise.all(runs.map((run) => run.completed()));
    expect(ends.map(({ done, dead }) => [done, dead])).toEqual([
      [10, 0],
      [10, 0],
      [10, 0],
    ]);
    expect(service.times.filter((at) => at >= 100 && at < 2_500)).toHaveLength(2);
  });
});

test("a probe that takes too long opens the breaker again, and frees its place", async () => {
  await simulate(async (sim) => {
    const service = new Service(100, 10);
    let hangs = 1;
    const call = route("call", {
      from: jobs,
      concurrency: 3,
      timeoutMs: 500,
      retry: RETRY,
      breaker: BREAKER,
    }).via("call", async (_n, ctx) => {
      if (ctx.kernel.env.now() > 500 && hangs-- > 0) await ctx.sleep(1_000_000);
      await service.call(ctx);
    });
    const pipeline = definePipeline("hanging", { routes: [call] });
    const system = sim.system({ name: "shop" });
    const changes: string[] = [];
    system.events.on("breaker", ({ from, to }) => changes.push(`${from} ${to}`));
    const host = await system.start(pipelineHost({ pipelines: [pipeline] }));
    const run = await host.start(pipeline, { messages: { to: jobs, values: numbers(12) } });
    expect(await run.completed()).toMatchObject({ done: 12, dead: 0 });
    expect(changes).toEqual([
      ...["closed open", "open half-open", "half-open open"],
      ...["open half-open", "half-open closed"],
    ]);
  });
});

test("a batch waits for the breaker of its adapter, and is emitted whole", async () => {
  await simulate(async (sim) => {
    const service = new Service(900);
    const batches: number[] = [];
    const gather = route("gather", {
      from: jobs,
      retry: RETRY,
      breaker: { ...BREAKER, windowCalls: 1, minimumCalls: 1 },
    }).batch("gather", { size: 4, everyMs: 100 }, async (all, ctx) => {
      await service.call(ctx);
      batches.push(all.length);
      return undefined;
    });
    const pipeline = definePipeline("gathering", { routes: [gather] });
    const host = await sim.system({ name: "shop" }).start(pipelineHost({ pipelines: [pipeline] }));
    const run = await host.start(pipeline, { messages: { to: jobs, values: numbers(8) } });
    expect(await run.completed()).toMatchObject({ done: 8, dead: 0 });
    // The batch that opened the breaker goes one by one; the other one waited and was never tried.
    expect([batches.reduce((a, b) => a + b, 0), batches.includes(4)]).toEqual([8, true]);
    expect(service.times.filter((at) => at < 900)).toHaveLength(1);
  });
});

test("an execution whose breaker is open is paused, resumed and cancelled like any other", async () => {
  await simulate(async (sim) => {
    const { run } = await started(sim, new Service(1_000_000), { concurrency: 4 });
    await sim.sleep(500);
    expect([await run.pause(), await run.resume(), await run.cancel()]).toEqual([true, true, true]);
    await expect(run.completed()).rejects.toMatchObject({ summary: { status: "cancelled", dead: 0 } });
  });
});

test("while the breaker of a request is open nothing is sent, and what the server refuses does not open it [Y94]", async () => {
  await simulate(async (sim) => {
    const sent = { refused: 0, failing: 0 };
    const request = (name: "refused" | "failing", status: number) =>
      httpRequest<number>(name, {
        url: "http://localhost/",
        attempts: 1,
        fetch: async () => {
          sent[name]++;
          return new Response("", { status });
        },
      });
    const policy = { breaker: BREAKER, retry: { ...RETRY, attempts: 2 } };
    const system = sim.system({ name: "shop" });
    const over = async (name: "refused" | "failing", status: number): Promise<PipelineRun> => {
      const pipeline = definePipeline(name, {
        routes: [route("call", { from: jobs, ...policy }).via(request(name, status))],
      });
      const host = await system.start(pipelineHost({ pipelines: [pipeline] }));
      return host.start(pipeline, { messages: { to: jobs, values: numbers(10) } });
    };
    const refused = await over("refused", 404);
    expect(await refused.completed()).toMatchObject({ done: 10, dead: 10 });
    const failing = await over("failing", 500);
    await sim.sleep(500);
    expect([sent, (await failing.progress()).done]).toEqual([{ refused: 10, failing: 4 }, 0]);
    await failing.cancel();
  });
});

test("a breaker whose probes are lost with their workers goes on probing, and nothing is lost [Y49]", async () => {
  const scenario = async (sim: Simulation): Promise<void> => {
    sim.calm();
    const service = new Service(1_200);
    const retry = { attempts: 1_000, backoff: { minMs: 1, maxMs: 5 } };
    sim.storm();
    const { run } = await started(sim, service, { concurrency: 3, retry }, 8);
    expect(await run.completed({ timeoutMs: 600_000 })).toMatchObject({ done: 24, dead: 0 });
  };
  await explored(scenario, {
    quick: 12,
    seed: 1,
    faults: { crash: [{ of: "shop/**/worker of call", atMost: 6, reason: "kill" }] },
  });
});
