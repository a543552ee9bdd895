// The entrances of services, telemetry, OpenTelemetry and XState.

import { type Pid, System, supervisor } from "signalbox";
import { instrument } from "signalbox/otel";
import {
  bulkhead,
  circuitBreaker,
  fallback,
  httpServer,
  httpStatus,
  pool,
  prometheus,
  rateLimiter,
  retryPolicy,
  run,
  telemetry,
  telemetryChannel,
} from "signalbox/service";
import { fromXState } from "signalbox/xstate";
import { createMachine } from "xstate";
import { Health } from "../../lib/service/health/health.js";
import { type Lines, nothing, on, type Reached } from "./lines.js";

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
  const limits = rateLimiter({ permits: 1, perMs: 1_000 });
  const limiter = limits.local(system);
  const guarded = retryPolicy({}).local(system)(nothing as never);
  const metrics = prometheus(new System({ report: false }), { runtime: false });
  const health = (): object => new Health({ settings: {}, phase: () => "running", pid: nothing } as never);
  const breaker = circuitBreaker({});
  const guard = (): object => breaker.local(system)(nothing as never);
  const gate = bulkhead({ concurrency: 1 });
  const substitute = fallback(nothing, {});
  const stream = telemetry(system, {});
  const counter = metrics.counter({ name: "ones", help: "A counter.", labels: ["of"] });
  const gauge = metrics.gauge({ name: "level", help: "A gauge.", labels: ["of"] });
  const histogram = metrics.histogram({ name: "sizes", help: "A histogram.", labels: ["of"] });
  const labels = { of: "a" };
  const pid = (): Pid<never> => system.spawn({ handle: nothing }) as never;
  const at = (definition: object): Reached => [on(definition, "at"), system, pid()];
  return {
    "Health.fetch": () => [on(health(), "fetch"), new Request("http://localhost/livez")],
    "Health.listener": () => [
      on(health(), "listener"),
      { url: "/livez" },
      { writeHead: nothing, end: nothing },
    ],
    "HttpServerDefinition.at": () => at(httpServer({ fetch: () => new Response() } as never, { port: 0 })),
    "PoolDefinition.at": () => at(pool(WORKER, { size: 1 })),
    "PoolRef.stop": async () => [on(await system.start(pool(WORKER, { size: 1 })), "stop"), "normal"],
    "BreakerDefinition.local": () => [on(breaker, "local"), system],
    "BreakerDefinition.local()": () => [breaker.local(system) as never, nothing],
    "BreakerDefinition.local()()": () => [guard() as never, 1],
    "Guarded.with()": () => [on(guard(), "with")({}) as never, 1],
    "BreakerDefinition.at": () => at(breaker),
    "BulkheadDefinition.local": () => [on(gate, "local"), system],
    "FallbackDefinition.local": () => [on(substitute, "local"), system],
    "FallbackDefinition.local()": () => [substitute.local(system) as never, nothing],
    "LimiterDefinition.local": () => [on(limits, "local"), system],
    "RateLimiter.status": () => [on(limiter, "status"), "a"],
    "LimiterDefinition.at": () => at(limits),
    "RetryDefinition.local": () => [on(retryPolicy({}), "local"), system],
    "RetryDefinition.local()": () => [retryPolicy({}).local(system) as never, nothing],
    telemetryChannel: () => [telemetryChannel, "call:end"],
    "PrometheusMetrics.text": () => [on(metrics, "text"), "openmetrics"],
    "PrometheusMetrics.fetch": () => [on(metrics, "fetch"), new Request("http://localhost/metrics")],
    "PrometheusMetrics.listener": () => [
      on(metrics, "listener"),
      { method: "GET", headers: {} },
      { writeHead: nothing, end: nothing },
    ],
    "CounterMetric.add": () => [on(counter, "add"), 1, labels],
    "GaugeMetric.set": () => [on(gauge, "set"), 1, labels],
    "GaugeMetric.add": () => [on(gauge, "add"), 1, labels],
    "HistogramMetric.observe": () => [on(histogram, "observe"), 1, labels],
    "TelemetryStream.subscribe": () => [on(stream, "subscribe"), "call:end", nothing],
    "XStateRef.send": async () => [on(await system.start(Door), "send"), { type: "open" }],
    "XStateRef.stop": async () => [on(await system.start(Door), "stop"), "normal"],
    "XStateDefinition.at": () => at(Door),
    "XStateDefinition.restored": async () => [
      on(Door, "restored"),
      await (await system.start(Door)).persisted(),
    ],
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
    httpStatus: () => [httpStatus, new Error("any")],
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
