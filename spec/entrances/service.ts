// The entrances of services, telemetry, OpenTelemetry and XState.

import { System, supervisor } from "signalbox";
import { instrument } from "signalbox/otel";
import {
  bulkhead,
  circuitBreaker,
  fallback,
  httpServer,
  pool,
  prometheus,
  rateLimiter,
  retryPolicy,
  run,
  telemetry,
} from "signalbox/service";
import { fromXState } from "signalbox/xstate";
import { createMachine } from "xstate";
import { Health } from "../../lib/service/health/health.js";
import { type Lines, nothing, on } from "./lines.js";

/** A host of a service that is never left. */
const HOST = {
  onSignal: () => nothing,
  onError: () => nothing,
  keepAlive: () => nothing,
  after: () => nothing,
  flush: async () => undefined,
  setExitCode: nothing,
  exit: nothing,
};

const Door = fromXState(createMachine({ initial: "shut", states: { shut: {} } }));
const WORKER = "data:text/javascript,export const add = (a, b) => a %2B b;";

export async function services(system: System): Promise<Lines> {
  const door = await system.start(Door);
  const workers = await system.start(pool(WORKER, { size: 1 }));
  const http = await system.start(httpServer({ fetch: () => new Response() } as never, { port: 0 }));
  const limiter = rateLimiter({ permits: 1, perMs: 1_000 }).local(system);
  const guarded = retryPolicy({}).local(system)(nothing as never);
  const metrics = prometheus(new System({ report: false }), { runtime: false });
  const health = (): object => new Health({ settings: {}, phase: () => "running", pid: nothing } as never);
  return {
    run: () => [run, supervisor({}), { host: HOST }],
    "Health.read": () => [on(health(), "read"), {}],
    httpServer: () => [httpServer, { fetch: nothing }, { port: 0 }],
    "HttpServerRef.address": () => [on(http, "address"), {}],
    pool: () => [pool, WORKER, {}],
    "PoolRef.with": () => [on(workers, "with"), {}],
    "PoolRef.stats": () => [on(workers, "stats"), {}],
    circuitBreaker: () => [circuitBreaker, {}],
    bulkhead: () => [bulkhead, { concurrency: 1 }],
    fallback: () => [fallback, nothing, {}],
    rateLimiter: () => [rateLimiter, { permits: 1, perMs: 1_000 }],
    retryPolicy: () => [retryPolicy, {}],
    "BulkheadDefinition.local()": () => [bulkhead({ concurrency: 1 }).local(system) as never, nothing, {}],
    "LimiterDefinition.local()": () => [limiter as never, nothing, {}],
    "RateLimiter.acquire": () => [on(limiter, "acquire"), {}],
    "Guarded.with": () => [on(guarded, "with"), {}],
    prometheus: () => [prometheus, system, {}],
    "PrometheusMetrics.counter": () => [on(metrics, "counter"), { name: "a", help: "A counter." }],
    "PrometheusMetrics.gauge": () => [on(metrics, "gauge"), { name: "b", help: "A gauge." }],
    "PrometheusMetrics.histogram": () => [on(metrics, "histogram"), { name: "c", help: "A histogram." }],
    telemetry: () => [telemetry, system, {}],
    instrument: () => [instrument, system, {}],
    fromXState: () => [fromXState, createMachine({}), {}],
    "XStateRef.snapshot": () => [on(door, "snapshot"), {}],
    "XStateRef.waitFor": () => [on(door, "waitFor"), () => true, {}],
    "XStateRef.output": () => [on(door, "output"), {}],
    "XStateRef.persisted": () => [on(door, "persisted"), {}],
  };
}
