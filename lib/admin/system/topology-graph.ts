// A running topology as a graph with rates. Looks at a topology are remembered as long as its process, and cost nothing when nobody
// looks.

import { inspectedOf } from "../../process/inspection-trace.js";
import type { Process } from "../../process/process.js";
import { STARTING } from "../../process/process-state.js";
import type { ComponentFigures, GraphFigures, GraphSource } from "../../topology/runtime/graph-figures.js";
import { bottleneckOf } from "./bottleneck.js";
import type { GraphComponent, GraphSubscription, TopologyGraph } from "./graph-operations.js";
import { type Look, type Looks, looked, perSecond } from "./graph-rates.js";

interface Seen {
  readonly looks: Looks;
  /** Since when each spout had as many tuples in flight as it may. */
  readonly fullSince: ReadonlyMap<string, number>;
}

const NOTHING: Seen = { looks: [], fullSince: new Map() };

const seen = new WeakMap<Process, Seen>();

/** The name of the topology that a process runs. Undefined when it runs none. */
export function topologyIn(process: Process): string | undefined {
  if (process.state === STARTING || inspectedOf(process)?.kind !== "topology") return undefined;
  return (process.behaviour as Partial<GraphSource>).topologyName;
}

/** The topology that a process runs. @param pid - the process as text @param at - the wall time */
export function topologyGraph(process: Process, pid: string, at: number): TopologyGraph {
  const figures = (process.behaviour as unknown as GraphSource).graphFigures();
  const { name, phase, uptimeMs, restarts } = figures;
  const before = seen.get(process) ?? NOTHING;
  const now = lookAt(figures);
  const { looks, since } = looked(before.looks, now);
  const fullSince = fullOf(figures, before);
  seen.set(process, { looks, fullSince });
  const components = figures.components.map((one) => componentOf(one, now, since));
  const edges = figures.subscriptions.map(
    ({ from, stream, to, grouping, taken }): GraphSubscription => ({
      from,
      stream,
      to,
      grouping,
      perS: perSecond(edgeName(from, stream, to), now, since),
      total: taken,
    }),
  );
  const bottleneck = bottleneckOf(components, edges, {
    overMs: since === undefined ? undefined : now.at - since.at,
    mayPend: new Map(figures.components.map((one) => [one.name, one.mayPend ?? 0])),
    isFull: new Set(
      [...fullSince].filter(([, from]) => since !== undefined && from <= since.at).map(([spout]) => spout),
    ),
  });
  return { pid, name, phase, at, uptimeMs, restarts, components, edges, bottleneck };
}

function componentOf(figures: ComponentFigures, now: Look, since: Look | undefined): GraphComponent {
  const { name, kind, tasks, executors, executed, emitted, acked, failed } = figures;
  const { pending, waiting, errors, restarts, executeLatency, completeLatency } = figures;
  return {
    ...{ name, kind, tasks, executors, executed, emitted, acked, failed, pending, waiting, errors, restarts },
    executedPerS: kind === "spout" ? undefined : perSecond(executedName(name), now, since),
    emittedPerS: perSecond(emittedName(name), now, since),
    capacity: capacityOf(figures, now, since),
    executeMs: executeLatency?.meanMs,
    completeMs: completeLatency?.meanMs,
  };
}

/**
 * The share of what the busiest task can do. Storm's rule, over the last seconds instead of minutes: tuples that it took, times the mean
 * time of `execute`, over the time. A task that works on several tuples at once can do so many times more.
 */
function capacityOf(
  { name, executeLatency, executedByTask, concurrency, capacity }: ComponentFigures,
  now: Look,
  since: Look | undefined,
): number | undefined {
  if (since === undefined || executeLatency === undefined) return bounded(capacity, concurrency);
  const rates = executedByTask.map((_, index) => perSecond(taskName(name, index), now, since) ?? 0);
  return bounded((Math.max(0, ...rates) * executeLatency.meanMs) / 1_000, concurrency);
}

/** An estimate from samples may exceed the whole. */
function bounded(share: number | undefined, concurrency: number): number | undefined {
  return share === undefined ? undefined : Math.min(1, share / concurrency);
}

function lookAt({ now, components, subscriptions }: GraphFigures): Look {
  const counters = new Map<string, number>();
  for (const { name, executed, emitted, executedByTask } of components) {
    counters.set(executedName(name), executed);
    counters.set(emittedName(name), emitted);
    for (const [index, count] of executedByTask.entries()) counters.set(taskName(name, index), count);
  }
  for (const { from, stream, to, taken } of subscriptions) counters.set(edgeName(from, stream, to), taken);
  return { at: now, counters };
}

function fullOf({ now, components }: GraphFigures, { fullSince }: Seen): ReadonlyMap<string, number> {
  const full = components.filter(({ mayPend, pending }) => mayPend !== undefined && pending >= mayPend);
  return new Map(full.map(({ name }) => [name, fullSince.get(name) ?? now]));
}

// Names of counters. The names of components are any texts, so they are written as JSON.
const executedName = (component: string): string => JSON.stringify(["executed", component]);
const emittedName = (component: string): string => JSON.stringify(["emitted", component]);
const taskName = (component: string, index: number): string => JSON.stringify(["task", component, index]);
const edgeName = (...edge: readonly string[]): string => JSON.stringify(["edge", ...edge]);
