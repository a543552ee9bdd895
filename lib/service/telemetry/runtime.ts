// Metrics of the host: the delay of its event loop, garbage collection, memory, processor time. Names are those of OpenTelemetry's
// conventions for Node and V8. The host measures only while these metrics are in use, and a system whose clock is not the host's
// has none of them.

import type { Environment } from "../../process/environment.js";
import { optionalModule } from "../../process/node-modules.js";
import { production } from "../../process/production.js";
import type { Instrument, Instruments, MetricSink } from "./instruments.js";
import type { TakeGauge } from "./sources.js";

/** Measures the host. */
export interface RuntimeProbe {
  /** The values of this moment. The delays are those since the last reading. */
  gauges(take: TakeGauge): void;
  close(): void;
}

declare module "../../process/environment.js" {
  interface Environment {
    /** @internal Measures the host of a system that is not simulated. Absent: a system with the production environment measures Node. */
    readonly openRuntime?: (sink: MetricSink) => RuntimeProbe | undefined;
  }
}

function gauge(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name, kind: "gauge", unit, help, labels };
}

const SINCE = "Delay of the event loop since the last page:";

/** In the order of the page. */
export const RUNTIME_METRICS: Instruments<
  | "delayMin"
  | "delayMax"
  | "delayMean"
  | "delayP50"
  | "delayP90"
  | "delayP99"
  | "utilization"
  | "gc"
  | "heapUsed"
  | "heapLimit"
  | "memory"
  | "cpu"
> = {
  delayMin: gauge("nodejs.eventloop.delay.min", "s", `${SINCE} the least.`),
  delayMax: gauge("nodejs.eventloop.delay.max", "s", `${SINCE} the most.`),
  delayMean: gauge("nodejs.eventloop.delay.mean", "s", `${SINCE} the mean.`),
  delayP50: gauge("nodejs.eventloop.delay.p50", "s", `${SINCE} half are below.`),
  delayP90: gauge("nodejs.eventloop.delay.p90", "s", `${SINCE} nine of ten are below.`),
  delayP99: gauge("nodejs.eventloop.delay.p99", "s", `${SINCE} 99 of 100 are below.`),
  utilization: gauge(
    "nodejs.eventloop.utilization",
    "1",
    "The share of time since the last page in which the event loop was not idle.",
  ),
  gc: {
    name: "v8js.gc.duration",
    kind: "histogram",
    unit: "s",
    help: "Pauses for garbage collection, by type: minor, major, incremental, or of weak references.",
    labels: ["v8js.gc.type"],
  },
  heapUsed: gauge(
    "v8js.memory.heap.used",
    "By",
    "The heap of this thread that is in use, by space.",
    "v8js.heap.space.name",
  ),
  heapLimit: gauge("v8js.memory.heap.limit", "By", "How large the heap of this thread may become."),
  memory: gauge("process.memory.usage", "By", "Physical memory of the host process."),
  cpu: {
    name: "process.cpu.time",
    kind: "counter",
    unit: "s",
    help: "Processor time of the host process, by mode: user, system.",
    labels: ["cpu.mode"],
  },
};

/** Begins to measure the host of a system, if it is the host's clock that the system runs by. */
export function openRuntime(env: Environment, sink: MetricSink): RuntimeProbe | undefined {
  if (env.openRuntime !== undefined) return env.openRuntime(sink);
  return env === production ? nodeRuntime(sink) : undefined;
}

type Hooks = typeof import("node:perf_hooks");

/** How often the event loop is looked at, in milliseconds. */
const RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;

function nodeRuntime(sink: MetricSink): RuntimeProbe | undefined {
  const hooks = optionalModule("node:perf_hooks");
  if (hooks === undefined) return undefined;
  const loop = watchLoop(hooks);
  const collections = watchCollections(hooks, sink);
  return {
    gauges: (take) => {
      loop.gauges(take);
      readMemory(take);
    },
    close: () => {
      loop.close();
      collections.disconnect();
    },
  };
}

function watchLoop({ monitorEventLoopDelay, performance }: Hooks): RuntimeProbe {
  const of = RUNTIME_METRICS;
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let last = performance.eventLoopUtilization();
  return {
    gauges: (take) => {
      const now = performance.eventLoopUtilization();
      take(of.utilization, performance.eventLoopUtilization(now, last).utilization);
      last = now;
      // Node counts the whole interval between two looks.
      const seconds = (ns: number): number => Math.max(0, ns / NANOSECONDS - RESOLUTION_MS / 1_000);
      if (delays.count > 0) {
        take(of.delayMin, seconds(delays.min));
        take(of.delayMax, seconds(delays.max));
        take(of.delayMean, seconds(delays.mean));
        take(of.delayP50, seconds(delays.percentile(50)));
        take(of.delayP90, seconds(delays.percentile(90)));
        take(of.delayP99, seconds(delays.percentile(99)));
      }
      delays.reset();
    },
    close: () => void delays.disable(),
  };
}

/** Node's types have no details of entries. */
interface Collection {
  readonly duration: number;
  readonly detail?: { readonly kind?: number };
}

/** Told by the host after each collection. */
function watchCollections(
  { PerformanceObserver, constants }: Hooks,
  sink: MetricSink,
): { disconnect(): void } {
  const types = new Map([
    [constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
    [constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
    [constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
    [constants.NODE_PERFORMANCE_GC_WEAKCB, "weakcb"],
  ]);
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { duration, detail } = entry as Collection;
      const kind = detail?.kind ?? 0;
      sink.observe(RUNTIME_METRICS.gc, duration / 1_000, [types.get(kind) ?? "other"]);
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  return observer;
}

const MICROSECONDS = 1e6;

function readMemory(take: TakeGauge): void {
  const of = RUNTIME_METRICS;
  const v8 = optionalModule("node:v8");
  const host = optionalModule("node:process");
  if (v8 !== undefined) {
    for (const { space_name: name, space_used_size: used } of v8.getHeapSpaceStatistics())
      take(of.heapUsed, used, name);
    take(of.heapLimit, v8.getHeapStatistics().heap_size_limit);
  }
  if (host === undefined) return;
  const { user, system } = host.cpuUsage();
  take(of.memory, host.memoryUsage.rss());
  take(of.cpu, user / MICROSECONDS, "user");
  take(of.cpu, system / MICROSECONDS, "system");
}
