// What tasks count, and what comes of it. A task writes plain numbers into meters of its own while it works; whoever
// wants to know has them summed up, per component, at that moment. Nothing here reads a clock.

import { Histogram, Latency, type LatencyMetrics, type Span } from "./latency.js";

/** What one task emitted on one stream. All but `emitted` is for reliable tuples, so for spouts. */
export class StreamMeter {
  emitted = 0;
  acked = 0;
  /** Expired ones are counted apart. */
  failed = 0;
  expired = 0;
  /** Complete latency: from the emit to the ack. */
  readonly latency: Latency;

  constructor(windowMs?: number) {
    this.latency = new Latency(windowMs);
  }
}

/** What one task of a bolt made of the tuples of one stream. */
export class InputMeter {
  executed = 0;
  acked = 0;
  failed = 0;
  /** Not worked on, since their trees had expired. */
  expired = 0;
  /** Execute latency: the run of `execute`, what it awaits included. Record it after `executed` was raised. */
  readonly execute: Latency;
  /** Process latency: from the moment it was taken until it was acked or failed. */
  readonly process: Latency;

  constructor(windowMs?: number) {
    this.execute = new Latency(windowMs, this);
    this.process = new Latency(windowMs);
  }
}

/**
 * What one task does. It outlives restarts of the task.
 *
 * @example
 * const meter = new TaskMeter(0);
 * const words = meter.stream("words"); // once, outside of the hot path
 * words.emitted++;
 */
export class TaskMeter {
  /** Milliseconds of the clock at which the task was there first. */
  readonly startedAt: number;
  readonly streams: Map<string, StreamMeter> = new Map();
  /** By `component.stream`. */
  readonly inputs: Map<string, InputMeter> = new Map();
  /** Unanchored tuples that nobody could be told of, for the task ended. */
  lost = 0;
  /** Reliable tuples that failed for good. */
  dead = 0;
  /** Tuples whose windows had all been handed over. */
  late = 0;
  errors = 0;
  restarts = 0;
  /** Reliable tuples under way just now. */
  pending = 0;
  /** Tuples in front of the task just now. */
  waiting = 0;
  private readonly windowMs: number | undefined;

  constructor(startedAt: number, windowMs?: number) {
    this.startedAt = startedAt;
    this.windowMs = windowMs;
  }

  /** The meter of an out stream; made when it is asked for first. */
  stream(name: string): StreamMeter {
    return at(this.streams, name, () => new StreamMeter(this.windowMs));
  }

  /** The meter of a stream that is read, `component.stream`; made when it is asked for first. */
  input(name: string): InputMeter {
    return at(this.inputs, name, () => new InputMeter(this.windowMs));
  }
}

/** Of one stream of a component, since the start. */
export interface StreamMetrics extends Readonly<Record<"emitted" | "acked" | "failed" | "expired", number>> {
  readonly completeLatency?: LatencyMetrics | undefined;
}

/** Of one stream that a bolt reads, since the start. */
export interface InputMetrics extends Readonly<Record<"executed" | "acked" | "failed" | "expired", number>> {
  readonly executeLatency?: LatencyMetrics | undefined;
  readonly processLatency?: LatencyMetrics | undefined;
}

/** What is measured. */
export interface MeteredComponent {
  readonly name: string;
  readonly kind: "spout" | "bolt" | "acker";
  readonly tasks: number;
  readonly executors: number;
}

/** A component: the sums over its tasks. Counters are since the start, restarts included. */
export interface ComponentMetrics extends MeteredComponent {
  readonly emitted: number;
  /** Of a spout, trees that are done; of a bolt, tuples that it acked. */
  readonly acked: number;
  /** Of a spout, trees that failed, without those that expired; of a bolt, tuples that it failed. */
  readonly failed: number;
  /** Of a spout, trees that expired; of a bolt, tuples that it did not work on, since their trees had expired. */
  readonly expired: number;
  /** Unanchored tuples that nobody could be told of, for their task ended. */
  readonly lost: number;
  /** Reliable tuples that failed for good. */
  readonly dead: number;
  /** Of a bolt with windows, tuples that came when their windows had all been handed over. */
  readonly late: number;
  readonly errors: number;
  readonly restarts: number;
  readonly executed: number;
  /** Reliable tuples under way just now. */
  readonly pending: number;
  /** Tuples in front of the tasks just now. */
  readonly waiting: number;
  readonly completeLatency?: LatencyMetrics | undefined;
  readonly executeLatency?: LatencyMetrics | undefined;
  readonly processLatency?: LatencyMetrics | undefined;
  /**
   * Share of the time that the busiest task is in `execute`: tuples executed in the window, times their mean execute
   * latency, over the window's length (Storm's rule). Near 1, this component is the bottleneck. A task that awaits
   * something in `execute` is busy. An estimate from samples: 0 when nothing was executed, undefined when nothing was
   * measured, and for all but bolts.
   */
  readonly capacity?: number | undefined;
  readonly streams: Readonly<Record<string, StreamMetrics>>;
  /** By `component.stream`. */
  readonly inputs: Readonly<Record<string, InputMetrics>>;
}

/** A topology at a moment. */
export interface TopologyMetrics {
  readonly name: string;
  readonly phase: string;
  readonly uptimeMs: number;
  /** How often it has started again as a whole. */
  readonly restarts?: number;
  readonly components: readonly ComponentMetrics[];
}

export interface MetricsWatchOptions {
  /** Milliseconds from one snapshot to the next. Default 1,000. */
  readonly everyMs?: number;
  /** Ends the watch, quietly. */
  readonly signal?: AbortSignal;
}

/**
 * Sums up the tasks of a component as they stand. `now` is the clock's time, in milliseconds. Reads the meters and
 * leaves them as they are.
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
    ...{ name, kind, tasks, executors },
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
