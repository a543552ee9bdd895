// A system that does a little of everything which has metrics. Durable flows are in spec/flow.

import { ConsumerGroup, consumer, defineServer, System, supervisor } from "signalbox";
import {
  bulkhead,
  circuitBreaker,
  httpServer,
  type PrometheusMetrics,
  pool,
  prometheus,
  type RequestContext,
  rateLimiter,
  retryPolicy,
} from "signalbox/service";
import { Sessions } from "../../../lib/node/session/sessions.js";
import type { SessionView } from "../../../lib/process/session-view.js";
import { FrameNetwork } from "../../node/session/frame-network.js";
import { until } from "../../support/until.js";
import { TOOLS, type Tools } from "../pool/support.js";

const Stock = defineServer({
  label: "stock",
  init: () => ({ left: 5 }),
  calls: { take: (state) => state.left-- },
  casts: {
    spill: () => {
      throw new Error("spilled");
    },
  },
});

export interface Everything extends AsyncDisposable {
  readonly system: System;
  readonly metrics: PrometheusMetrics;
  /** Guards are gone from the page when nobody holds them. */
  readonly kept: readonly unknown[];
}

const fails = async (): Promise<never> => {
  throw new Error("away");
};
const ignore = (): undefined => undefined;

/** @param prepare - what is done to the system before its first process is there */
export async function everything(prepare: (system: System) => void = ignore): Promise<Everything> {
  const system = new System({ name: "shop", report: false });
  prepare(system);
  const metrics = prometheus(system, { timeOneIn: 1 });
  await processes(system);
  const kept = await guards(system);
  await jobs(system);
  await requests(system);
  // A request is over after its client has the answer.
  await until(() => requestsOn(metrics.text()) >= 5, "the count of requests");
  const others = await nodes(system);
  const stop = async (): Promise<void> => {
    for (const one of [system, ...others]) await one.stop({ timeoutMs: 0 });
  };
  return { system, metrics, kept, [Symbol.asyncDispose]: stop };
}

async function processes(system: System): Promise<void> {
  const children = [{ id: "stock", start: Stock, name: "stock" }];
  await system.start(supervisor({ label: "floor", intensity: 5, children }));
  const stock = Stock.at(system, "stock");
  await stock.call.take();
  stock.cast.spill();
  await system.idle();
  const group = new ConsumerGroup<number>({ name: "pickers" });
  system.spawn(
    consumer<number>((n) => n, { group }),
    { label: "picker" },
  );
  await system.dispatch(group, 1);
}

/** One node is there; another one has left, and a message to it is a dead letter. Returns their systems. */
async function nodes(system: System): Promise<readonly System[]> {
  const network = new FrameNetwork();
  const { kernel } = system;
  new Sessions(system, network.carrier(system.node));
  const isTrueOfAll = (is: (view: SessionView) => boolean): boolean =>
    kernel.remote.sessions()?.filter(is).length === 2;
  const others = ["stays", "leaves"].map((name) => {
    const other = new System({ name, report: false });
    const sessions = new Sessions(other, network.carrier(other.node));
    const pid = other.spawn({ handle: ignore });
    return { other, sessions, far: system.pidAt(other.address(pid)) };
  });
  network.meet();
  await until(() => isTrueOfAll(({ state }) => state === "up"), "the sessions");
  await until(() => isTrueOfAll(({ roundTripMs }) => roundTripMs !== undefined), "heartbeats there and back");
  const leaves = others[1] as (typeof others)[number];
  await leaves.sessions.close();
  await until(() => kernel.remote.sessions()?.some(({ ends }) => ends > 0) === true, "the end of a session");
  system.send(leaves.far, "too late");
  return others.map(({ other }) => other);
}

function requestsOn(page: string): number {
  const counts = page.matchAll(/^http_server_request_duration_seconds_count\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, n]) => sum + Number(n), 0);
}

async function guards(system: System): Promise<readonly unknown[]> {
  const breaker = circuitBreaker({ label: "bank", minimumCalls: 2 }).local(system);
  await breaker(async () => 1)();
  for (let i = 0; i < 3; i++) await breaker(fails)().catch(ignore);
  const limit = rateLimiter({ permits: 1, perMs: 60_000, label: "mail", maxWaiting: 0 }).local(system);
  for (let i = 0; i < 3; i++) await limit.acquire().catch(ignore);
  const places = bulkhead({ concurrency: 1, maxWaiting: 1, label: "reports" }).local(system);
  let open: () => void = ignore;
  const held = places(() => new Promise<void>((resolve) => (open = resolve)));
  const calls = [held(), places(async () => 1)(), places(async () => 1)().catch(ignore)];
  await system.idle();
  open();
  await Promise.all(calls);
  const retry = retryPolicy({ label: "page", backoff: { minMs: 1, maxMs: 1, jitter: 0 } }).local(system);
  await retry(fails)().catch(ignore);
  await retry(async ({ number }) => (number < 2 ? fails() : number))();
  return [breaker, limit, places, retry];
}

async function jobs(system: System): Promise<void> {
  const tools = await system.start(pool<Tools>(TOOLS, { size: 1, label: "tools" }));
  await tools.run.add(1, 2);
  await (tools.run as unknown as { none(): Promise<void> }).none().catch(ignore);
  await tools.with({ deadlineMs: 1 }).run.loop().catch(ignore);
}

async function requests(system: System): Promise<void> {
  const handler = {
    fetch: ({ url }: Request, context: RequestContext) => {
      const isOrder = new URL(url).pathname.startsWith("/orders/");
      if (isOrder) context.setRoute("/orders/:id");
      return new Response("here", { status: isOrder ? 200 : 404 });
    },
  };
  const server = await system.start(httpServer(handler, { port: 0, host: "127.0.0.1", label: "web" }));
  const { port } = await server.address();
  for (const path of ["orders/1", "orders/2", "secret-1", "secret-2"])
    await (await fetch(`http://127.0.0.1:${port}/${path}`)).text();
  await (await fetch(`http://127.0.0.1:${port}/orders/3`, { method: "PURGE" })).text();
}
