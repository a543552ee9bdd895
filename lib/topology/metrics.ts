// What tasks count, and what comes of it. A task writes plain numbers into meters of its own while it works; whoever
// wants to know has them summed up, per component, at that moment. Nothing here reads a clock.
//
// Latencies are sampled, and kept in buckets that grow by 19 % (four to an octave): mean and maximum are exact for what
// was sampled, a percentile is off by 9 % at most. The window moves on by a twentieth of its length at a time.

/** Length of the rolling window in milliseconds, as long as Storm's. */
export const METRICS_WINDOW_MS = 600_000;
const SLOTS = 20;

const PER_OCTAVE = 4;
/** What takes less than about a microsecond counts as nothing. */
const LEAST_MS = 2 ** -10;
/** Up to 2^24 ms, more than four hours; one bucket below, for nothing, and one above. */
const BUCKETS = 2 + PER_OCTAVE * 34;
const LAST = BUCKETS - 1;

/** Measured durations, in milliseconds. */
export interface LatencyMetrics {
  readonly meanMs: number;
  /** Half of them took at most this: an estimate, off by 9 % at most. */
  readonly p50Ms: number;
  /** Of a hundred, 99 took at most this: an estimate, off by 9 % at most. */
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How many were measured. */
  readonly samples: number;
}

class Histogram {
  samples = 0;
  sumMs = 0;
  maxMs = 0;
  private readonly buckets: Uint32Array = new Uint32Array(BUCKETS);

  add(ms: number): void {
    this.samples++;
    this.sumMs += ms;
    if (ms > this.maxMs) this.maxMs = ms;
    const bucket = ms < LEAST_MS ? 0 : Math.min(LAST, 1 + Math.floor(Math.log2(ms / LEAST_MS) * PER_OCTAVE));
    this.buckets[bucket] = (this.buckets[bucket] as number) + 1;
  }

  merge(other: Histogram): void {
    this.samples += other.samples;
    this.sumMs += other.sumMs;
    if (other.maxMs > this.maxMs) this.maxMs = other.maxMs;
    for (let i = 0; i < BUCKETS; i++)
      this.buckets[i] = (this.buckets[i] as number) + (other.buckets[i] as number);
  }

  clear(): void {
    this.samples = this.sumMs = this.maxMs = 0;
    this.buckets.fill(0);
  }

  metrics(): LatencyMetrics | undefined {
    if (this.samples === 0) return undefined;
    return {
      meanMs: this.sumMs / this.samples,
      p50Ms: this.quantile(0.5),
      p99Ms: this.quantile(0.99),
      maxMs: this.maxMs,
      samples: this.samples,
    };
  }

  private quantile(share: number): number {
    let left = Math.ceil(share * this.samples);
    let bucket = 0;
    while (bucket < LAST) {
      left -= this.buckets[bucket] as number;
      if (left <= 0) break;
      bucket++;
    }
    if (bucket === 0) return 0;
    if (bucket === LAST) return this.maxMs;
    return Math.min(this.maxMs, LEAST_MS * 2 ** ((bucket - 0.5) / PER_OCTAVE));
  }
}

/** A stretch of the window. */
interface Slot {
  /** Which stretch of the clock it is: the time of its beginning over its length. */
  index: number;
  /** What the owner had executed at the last sample before it. */
  before: number;
  readonly durations: Histogram;
}

/**
 * Durations of one kind of work, those in the rolling window and all there were. Memory: some 600 bytes for each
 * twentieth of the window in which there was a sample, and nothing before the first.
 *
 * @example
 * const latency = new Latency();
 * latency.record(12.5, 1_000); // took 12.5 ms, and was done when the clock said 1,000
 */
export class Latency {
  private readonly slotMs: number;
  private readonly owner: { readonly executed: number } | undefined;
  private readonly slots: Slot[] = [];
  private total: Histogram | undefined = undefined;
  private counted = 0;

  constructor(windowMs: number = METRICS_WINDOW_MS, owner?: { readonly executed: number }) {
    this.slotMs = windowMs / SLOTS;
    this.owner = owner;
  }

  /** A duration and the time at which it was over, in milliseconds. An owner has counted it before. */
  record(ms: number, now: number): void {
    // A clock that was set back must not spoil the sums.
    const duration = ms >= 0 ? ms : 0;
    this.total ??= new Histogram();
    this.total.add(duration);
    this.slotAt(Math.floor(now / this.slotMs)).durations.add(duration);
    if (this.owner !== undefined) this.counted = this.owner.executed;
  }

  /** @internal Beginning of the window: it is as long as asked for, or up to a twentieth shorter. */
  windowStart(now: number): number {
    return (Math.floor(now / this.slotMs) - SLOTS + 1) * this.slotMs;
  }

  /** @internal */
  addTo(sum: Histogram, now: number, over: Span): void {
    if (over === "window") for (const slot of this.live(now)) sum.merge(slot.durations);
    else if (this.total !== undefined) sum.merge(this.total);
  }

  /**
   * @internal Milliseconds that the owner was at work: what it executed times the mean of the samples. What was executed
   * since the beginning of the window is known from the first sample in it, so it may count as many too many as there
   * are from one sample to the next. Undefined when nothing was ever measured.
   */
  busyMs(executed: number, now: number, over: Span): number | undefined {
    if (executed === 0) return 0;
    if (this.total === undefined) return undefined;
    const mean = this.total.sumMs / this.total.samples;
    if (over === "all") return executed * mean;
    const live = this.live(now);
    if (live.length === 0) return (executed - this.counted) * mean;
    const sum = new Histogram();
    this.addTo(sum, now, over);
    const before = live.reduce((first, slot) => (slot.index < first.index ? slot : first)).before;
    return ((executed - before) * sum.sumMs) / sum.samples;
  }

  private live(now: number): readonly Slot[] {
    const start = this.windowStart(now);
    return this.slots.filter((slot) => slot.index * this.slotMs >= start);
  }

  private slotAt(index: number): Slot {
    const current = this.slots.find((one) => one.index === index);
    if (current !== undefined) return current;
    let slot = this.slots.find((one) => one.index <= index - SLOTS);
    if (slot === undefined) {
      slot = { index, before: 0, durations: new Histogram() };
      this.slots.push(slot);
    }
    slot.index = index;
    slot.before = this.counted;
    slot.durations.clear();
    return slot;
  }
}

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

/** Which latencies to look at: those in the rolling window, or all since the start. Counters are since the start. */
export type Span = "window" | "all";

/** Of one stream of a component, since the start. */
export interface StreamMetrics extends Readonly<Record<"emitted" | "acked" | "failed" | "expired", number>> {
  readonly completeLatency?: LatencyMetrics | undefined;
}

/** Of one stream that a bolt reads, since the start. */
export interface InputMetrics extends Readonly<Record<"executed" | "acked" | "failed", number>> {
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
  readonly expired: number;
  /** Unanchored tuples that nobody could be told of, for their task ended. */
  readonly lost: number;
  /** Reliable tuples that failed for good. */
  readonly dead: number;
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
  readonly components: readonly ComponentMetrics[];
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
    ...totals(meters, "lost", "dead", "errors", "restarts", "pending", "waiting"),
    ...totals(out, "emitted", "expired"),
    ...totals(read, "executed"),
    ...totals([...out, ...read], "acked", "failed"),
    completeLatency: latency(out.map((meter) => meter.latency)),
    executeLatency: latency(read.map((meter) => meter.execute)),
    processLatency: latency(read.map((meter) => meter.process)),
    capacity: kind === "bolt" ? capacityOf(meters, now, over) : undefined,
    streams: byName(named.out, (same) => ({
      ...totals(same, "emitted", "acked", "failed", "expired"),
      completeLatency: latency(same.map((meter) => meter.latency)),
    })),
    inputs: byName(named.read, (same) => ({
      ...totals(same, "executed", "acked", "failed"),
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
