// The counters of tasks, and their sums. A task writes plain numbers into its own meters while it works. They are summed up
// per component when they are read. Nothing here reads a clock.

import { Histogram, Latency, type LatencyMetrics, type Span } from "./latency.js";

/** The tuples that one task emitted on one stream. All but `emitted` counts reliable tuples of spouts. */
export class StreamMeter {
  emitted = 0;
  acked = 0;
  /** Without those that expired. */
  failed = 0;
  expired = 0;
  /** Complete latency: from the emit until the tree is complete. */
  readonly latency: Latency;

  constructor(windowMs?: number) {
    this.latency = new Latency(windowMs);
  }
}

/** The tuples of one stream that one task of a bolt worked on. */
export class InputMeter {
  executed = 0;
  acked = 0;
  failed = 0;
  /** Tuples that were not worked on, since their trees had expired. */
  expired = 0;
  /** Execute latency: the time of `execute`, including awaits. Record it after `executed` was incremented. */
  readonly execute: Latency;
  /** Process latency: from taking the tuple until it is acked or failed. */
  readonly process: Latency;

  constructor(windowMs?: number) {
    this.execute = new Latency(windowMs, this);
    this.process = new Latency(windowMs);
  }
}

/**
 * The counters of one task. They outlive restarts of the task.
 *
 * @example
 * const meter = new TaskMeter(0);
 * const words = meter.stream("words"); // once, outside of the hot path
 * words.emitted++;
 */
export class TaskMeter {
  /** Milliseconds of the clock at the first start of the task. */
  readonly startedAt: number;
  readonly streams: Map<string, StreamMeter> = new Map();
  /** By `component.stream`. */
  readonly inputs: Map<string, InputMeter> = new Map();
  /** Unanchored tuples that were lost when the task ended. No spout is notified of them. */
  lost = 0;
  /** Reliable tuples that failed for good. */
  dead = 0;
  /** Tuples that came when all of their windows had been handed over. */
  late = 0;
  errors = 0;
  restarts = 0;
  /** Reliable tuples that are not settled at this moment. */
  pending = 0;
  /** Tuples in the mailbox of the task at this moment. */
  waiting = 0;
  readonly #windowMs: number | undefined;

  constructor(startedAt: number, windowMs?: number) {
    this.startedAt = startedAt;
    this.#windowMs = windowMs;
  }

  /** The meter of a stream that the task emits on. Made at the first call. */
  stream(name: string): StreamMeter {
    return at(this.streams, name, () => new StreamMeter(this.#windowMs));
  }

  /** The meter of a stream that the task reads, by `component.stream`. Made at the first call. */
  input(name: string): InputMeter {
    return at(this.inputs, name, () => new InputMeter(this.#windowMs));
  }
}

/** The counters of one stream of a component, since the start. */
export interface StreamMetrics extends Readonly<Record<"emitted" | "acked" | "failed" | "expired", number>> {
  /**
   * Of a spout: the time from the first emit of a reliable tuple until its tree is complete. Undefined when none was
   * measured.
   */
  readonly completeLatency?: LatencyMetrics | undefined;
}

/** The counters of one stream that a bolt reads, since the start. */
export interface InputMetrics extends Readonly<Record<"executed" | "acked" | "failed" | "expired", number>> {
  /** The time that `execute` takes, awaits included. Undefined when none was measured. */
  readonly executeLatency?: LatencyMetrics | undefined;
  /** The time from when a task takes a tuple until the task acks or fails it. Undefined when none was measured. */
  readonly processLatency?: LatencyMetrics | undefined;
}

/** A component that is measured. */
export interface MeteredComponent {
  readonly name: string;
  readonly kind: "spout" | "bolt" | "acker";
  readonly tasks: number;
  readonly executors: number;
}

/** The figures of a component: sums over its tasks. Counters are since the start, over all restarts. */
export interface ComponentMetrics extends MeteredComponent {
  /** Tuples that it emitted on all streams, each retry of a spout counted. */
  readonly emitted: number;
  /** Of a spout: trees that are complete. Of a bolt: tuples that it acked. */
  readonly acked: number;
  /** Of a spout: trees that failed, without those that expired. Of a bolt: tuples that it failed. */
  readonly failed: number;
  /** Of a spout: trees that expired. Of a bolt: tuples that it did not work on, since their trees had expired. */
  readonly expired: number;
  /** Unanchored tuples that were lost when their task ended. No spout is notified of them. */
  readonly lost: number;
  /** Reliable tuples that failed for good. */
  readonly dead: number;
  /** Of a bolt with windows: tuples that came when all of their windows had been handed over. */
  readonly late: number;
  /** Errors of its tasks: lines that they logged with level `error`, starts that failed, and emits that threw. */
  readonly errors: number;
  /** How often its tasks were started again, all tasks together. */
  readonly restarts: number;
  /** Of a bolt: tuples that its tasks took to work on. Of a spout: 0. */
  readonly executed: number;
  /** Of a spout: reliable tuples that are not settled at this moment. Of a bolt: tuples queued, in work and held. */
  readonly pending: number;
  /** Tuples in the mailboxes of the tasks at this moment. */
  readonly waiting: number;
  /**
   * Of a spout: the time from the first emit of a reliable tuple until its tree is complete. Undefined when none was
   * measured.
   */
  readonly completeLatency?: LatencyMetrics | undefined;
  /** Of a bolt: the time that `execute` takes, awaits included. Undefined when none was measured. */
  readonly executeLatency?: LatencyMetrics | undefined;
  /** Of a bolt: the time from when a task takes a tuple until the task acks or fails it. Undefined when none was measured. */
  readonly processLatency?: LatencyMetrics | undefined;
  /**
   * The share of the time that the busiest task spends in `execute`: the tuples executed in the window, times their mean
   * execute latency, over the length of the window (Storm's rule). Near 1, the component is the bottleneck. A task that
   * awaits a promise in `execute` counts as busy. The figure is an estimate from samples: 0 when no tuple was executed;
   * undefined when none was measured, and for spouts and ackers.
   */
  readonly capacity?: number | undefined;
  /** The counters of each stream that it emits on, by the name of the stream. */
  readonly streams: Readonly<Record<string, StreamMetrics>>;
  /** By `component.stream`. */
  readonly inputs: Readonly<Record<string, InputMetrics>>;
}

/** The figures of a topology at one moment. */
export interface TopologyMetrics {
  /** Name of the topology. */
  readonly name: string;
  /** The phase of the topology's life; see {@link Phase}. */
  readonly phase: string;
  /** Milliseconds of the system's clock since the first start. Restarts of the whole topology do not reset the figure. */
  readonly uptimeMs: number;
  /** How often the topology has started again as a whole. */
  readonly restarts?: number;
  /** The figures of each component, the ackers included. */
  readonly components: readonly ComponentMetrics[];
}

/** Options of {@link TopologyRef.watch} and `liveDashboard`. */
export interface MetricsWatchOptions {
  /** The time from one snapshot to the next. Default 1,000. */
  readonly everyMs?: number;
  /** Ends the watch without an error. */
  readonly signal?: AbortSignal;
}

/**
 * Sums up the meters of a component's tasks. `now` is the time of the clock in milliseconds. The meters are not changed.
 *
 * @example
 * const meter = new TaskMeter(0);
 * meter.stream("words").emitted++;
 * const split = { name: "split", kind: "bolt", tasks: 1, executors: 1 } as const;
 * console.log(componentMetrics(split, [meter], 1_000).emitted); // 1
 */
export function componentMetrics(
  { name, kind, tasks, executors }: MeteredComponent,
  meters: readonly TaskMeter[],
  now: number,
  over: Span = "window",
): ComponentMetrics {
  const latency = (all: readonly Latency[]): LatencyMetrics | undefined => {
    const sum = new Histogram();
    for (const one of all) one.addTo(sum, now, over);
    return sum.metrics();
  };
  const named = {
    out: meters.flatMap(({ streams }) => [...streams]),
    read: meters.flatMap(({ inputs }) => [...inputs]),
  };
  const out = named.out.map(([, meter]) => meter);
  const read = named.read.map(([, meter]) => meter);
  return {
    name,
    kind,
    tasks,
    executors,
    ...totals(meters, "lost", "dead", "late", "errors", "restarts", "pending", "waiting"),
    ...totals(out, "emitted"),
    ...totals(read, "executed"),
    ...totals([...out, ...read], "acked", "failed", "expired"),
    completeLatency: latency(out.map((meter) => meter.latency)),
    executeLatency: latency(read.map((meter) => meter.execute)),
    processLatency: latency(read.map((meter) => meter.process)),
    capacity: kind === "bolt" ? capacityOf(meters, now, over) : undefined,
    streams: byName(named.out, (same) => ({
      ...totals(same, "emitted", "acked", "failed", "expired"),
      completeLatency: latency(same.map((meter) => meter.latency)),
    })),
    inputs: byName(named.read, (same) => ({
      ...totals(same, "executed", "acked", "failed", "expired"),
      executeLatency: latency(same.map((meter) => meter.execute)),
      processLatency: latency(same.map((meter) => meter.process)),
    })),
  };
}

function capacityOf(meters: readonly TaskMeter[], now: number, over: Span): number | undefined {
  const shares = meters.map((meter) => shareAtWork(meter, now, over)).filter((share) => share !== undefined);
  return shares.length === 0 ? undefined : shares.reduce((most, share) => Math.max(most, share));
}

function shareAtWork({ startedAt, inputs }: TaskMeter, now: number, over: Span): number | undefined {
  let begin = startedAt;
  let busyMs: number | undefined = inputs.size === 0 ? 0 : undefined;
  for (const { execute, executed } of inputs.values()) {
    const ms = execute.busyMs(executed, now, over);
    if (ms !== undefined) busyMs = (busyMs ?? 0) + ms;
    if (over === "window") begin = Math.max(begin, execute.windowStart(now));
  }
  if (busyMs === undefined) return undefined;
  return now > begin ? busyMs / (now - begin) : 0;
}

function totals<K extends string>(
  meters: readonly Readonly<Record<K, number>>[],
  ...counters: readonly K[]
): Record<K, number> {
  const sum = (counter: K): number => meters.reduce((before, meter) => before + meter[counter], 0);
  return Object.fromEntries(counters.map((counter) => [counter, sum(counter)])) as Record<K, number>;
}

function byName<M, R>(
  named: readonly (readonly [string, M])[],
  sumUp: (same: readonly M[]) => R,
): Record<string, R> {
  const groups = new Map<string, M[]>();
  for (const [name, meter] of named) at(groups, name, () => []).push(meter);
  return Object.fromEntries([...groups].map(([name, same]) => [name, sumUp(same)]));
}

function at<V>(map: Map<string, V>, name: string, make: () => V): V {
  const there = map.get(name);
  if (there !== undefined) return there;
  const made = make();
  map.set(name, made);
  return made;
}
