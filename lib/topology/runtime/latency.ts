// Sampled durations in buckets that grow by 19 % (four to an octave). The mean and the maximum of the samples are exact; a
// percentile is off by 9 % at most. The window moves by a twentieth of its length at a time.

/** The latencies in the rolling window, or all since the start. */
export type Span = "window" | "all";

/** Length of the rolling window in milliseconds, as long as Storm's. */
export const METRICS_WINDOW_MS = 600_000;
const SLOTS = 20;

const PER_OCTAVE = 4;
/** A duration of less than about a microsecond counts as zero. */
const LEAST_MS = 2 ** -10;
/** Up to 2^24 ms, more than four hours. One bucket below is for zero, and one above for longer durations. */
const BUCKETS = 2 + PER_OCTAVE * 34;
const LAST = BUCKETS - 1;

/** Measured durations, in milliseconds. */
export interface LatencyMetrics {
  /** The mean, exact. */
  readonly meanMs: number;
  /** The median: an estimate, off by 9 % at most. */
  readonly p50Ms: number;
  /** The 99th percentile: an estimate, off by 9 % at most. */
  readonly p99Ms: number;
  /** The longest duration, exact. */
  readonly maxMs: number;
  /** How many durations were measured. */
  readonly samples: number;
}

/** How many durations fell into each bucket. */
export class Histogram {
  samples = 0;
  sumMs = 0;
  maxMs = 0;
  readonly #buckets: Uint32Array = new Uint32Array(BUCKETS);

  add(ms: number): void {
    this.samples++;
    this.sumMs += ms;
    if (ms > this.maxMs) this.maxMs = ms;
    const bucket = ms < LEAST_MS ? 0 : Math.min(LAST, 1 + Math.floor(Math.log2(ms / LEAST_MS) * PER_OCTAVE));
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
  }

  merge(other: Histogram): void {
    this.samples += other.samples;
    this.sumMs += other.sumMs;
    if (other.maxMs > this.maxMs) this.maxMs = other.maxMs;
    for (let i = 0; i < BUCKETS; i++)
      this.#buckets[i] = (this.#buckets[i] as number) + (other.#buckets[i] as number);
  }

  clear(): void {
    this.samples = this.sumMs = this.maxMs = 0;
    this.#buckets.fill(0);
  }

  metrics(): LatencyMetrics | undefined {
    if (this.samples === 0) return undefined;
    return {
      meanMs: this.sumMs / this.samples,
      p50Ms: this.#quantile(0.5),
      p99Ms: this.#quantile(0.99),
      maxMs: this.maxMs,
      samples: this.samples,
    };
  }

  #quantile(share: number): number {
    let left = Math.ceil(share * this.samples);
    let bucket = 0;
    while (bucket < LAST) {
      left -= this.#buckets[bucket] as number;
      if (left <= 0) break;
      bucket++;
    }
    if (bucket === 0) return 0;
    if (bucket === LAST) return this.maxMs;
    return Math.min(this.maxMs, LEAST_MS * 2 ** ((bucket - 0.5) / PER_OCTAVE));
  }
}

/** A part of the window. */
interface Slot {
  /** The number of the part: its start over its length. */
  index: number;
  /** How many tuples the owner had executed at the last sample before this part. */
  before: number;
  readonly durations: Histogram;
}

/**
 * The durations of one kind of work: those in the rolling window, and all since the start. Memory: some 600 bytes for each
 * twentieth of the window that has a sample.
 *
 * @example
 * const latency = new Latency();
 * latency.record(12.5, 1_000); // took 12.5 ms, and was done when the clock said 1,000
 */
export class Latency {
  readonly #slotMs: number;
  readonly #owner: { readonly executed: number } | undefined;
  readonly #slots: Slot[] = [];
  #total: Histogram | undefined = undefined;
  #counted = 0;

  constructor(windowMs: number = METRICS_WINDOW_MS, owner?: { readonly executed: number }) {
    this.#slotMs = windowMs / SLOTS;
    this.#owner = owner;
  }

  /** Records a duration and the time of its end, in milliseconds. The owner counts the work before. */
  record(ms: number, now: number): void {
    // A clock that was set back must not make the sums wrong.
    const duration = ms >= 0 ? ms : 0;
    this.#total ??= new Histogram();
    this.#total.add(duration);
    this.#slotAt(Math.floor(now / this.#slotMs)).durations.add(duration);
    if (this.#owner !== undefined) this.#counted = this.#owner.executed;
  }

  /** @internal The start of the window, whose length is `windowMs` or up to a twentieth less. */
  windowStart(now: number): number {
    return (Math.floor(now / this.#slotMs) - SLOTS + 1) * this.#slotMs;
  }

  /** @internal */
  addTo(sum: Histogram, now: number, over: Span): void {
    if (over === "window") for (const slot of this.#live(now)) sum.merge(slot.durations);
    else if (this.#total !== undefined) sum.merge(this.#total);
  }

  /**
   * @internal Milliseconds that the owner worked: the tuples that it executed, times the mean of the samples. The tuples are
   * counted from the first sample in the window, so the count may be too high by the tuples between two samples. Undefined
   * when no duration was ever recorded.
   */
  busyMs(executed: number, now: number, over: Span): number | undefined {
    if (executed === 0) return 0;
    if (this.#total === undefined) return undefined;
    const mean = this.#total.sumMs / this.#total.samples;
    if (over === "all") return executed * mean;
    const live = this.#live(now);
    if (live.length === 0) return (executed - this.#counted) * mean;
    const sum = new Histogram();
    this.addTo(sum, now, over);
    const before = live.reduce((first, slot) => (slot.index < first.index ? slot : first)).before;
    return ((executed - before) * sum.sumMs) / sum.samples;
  }

  #live(now: number): readonly Slot[] {
    const start = this.windowStart(now);
    return this.#slots.filter((slot) => slot.index * this.#slotMs >= start);
  }

  #slotAt(index: number): Slot {
    const current = this.#slots.find((one) => one.index === index);
    if (current !== undefined) return current;
    let slot = this.#slots.find((one) => one.index <= index - SLOTS);
    if (slot === undefined) {
      slot = { index, before: 0, durations: new Histogram() };
      this.#slots.push(slot);
    }
    slot.index = index;
    slot.before = this.#counted;
    slot.durations.clear();
    return slot;
  }
}
