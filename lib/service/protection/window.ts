// The recent past: the last N calls, or the calls of the last N milliseconds. Deterministic, and mutable inside: a copy
// for each call would cost more than the call's own bookkeeping.

/** One call that has ended. */
export interface Ended {
  readonly failed: boolean;
  readonly slow: boolean;
}

/** The calls of a window. */
export interface Tally {
  readonly total: number;
  readonly failed: number;
  readonly slow: number;
}

/** Counts calls that ended, and forgets the old ones. */
export interface Window {
  add(ended: Ended, now: number): void;
  tally(now: number): Tally;
}

/** The last `size` calls. */
export class CallWindow implements Window {
  readonly #calls: Ended[] = [];
  #next = 0;
  #failed = 0;
  #slow = 0;
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  add(ended: Ended): void {
    const old = this.#calls[this.#next];
    if (old !== undefined) this.#count(old, -1);
    this.#calls[this.#next] = ended;
    this.#next = (this.#next + 1) % this.#size;
    this.#count(ended, 1);
  }

  tally(): Tally {
    return { total: this.#calls.length, failed: this.#failed, slow: this.#slow };
  }

  #count({ failed, slow }: Ended, by: number): void {
    if (failed) this.#failed += by;
    if (slow) this.#slow += by;
  }
}

/** A window of time is this many slices, which are forgotten one by one. */
export const SLICES = 10;

interface Slice {
  /** Which slice of all time this is. */
  index: number;
  total: number;
  failed: number;
  slow: number;
}

/** The calls of the last `windowMs` milliseconds, to a tenth of that. */
export class TimeWindow implements Window {
  readonly #slices: Slice[] = [];
  #latest = Number.NEGATIVE_INFINITY;
  readonly #sliceMs: number;

  constructor(windowMs: number) {
    this.#sliceMs = windowMs / SLICES;
  }

  add({ failed, slow }: Ended, now: number): void {
    const index = this.#move(now);
    const at = ((index % SLICES) + SLICES) % SLICES;
    let slice = this.#slices[at];
    if (slice === undefined || slice.index !== index) {
      slice = { index, total: 0, failed: 0, slow: 0 };
      this.#slices[at] = slice;
    }
    slice.total++;
    if (failed) slice.failed++;
    if (slow) slice.slow++;
  }

  tally(now: number): Tally {
    const oldest = this.#move(now) - SLICES;
    const sum = { total: 0, failed: 0, slow: 0 };
    for (const slice of this.#slices) {
      if (slice === undefined || slice.index <= oldest) continue;
      sum.total += slice.total;
      sum.failed += slice.failed;
      sum.slow += slice.slow;
    }
    return sum;
  }

  /** A clock that goes back stays in the latest slice, so that nothing is counted twice or in the future. */
  #move(now: number): number {
    this.#latest = Math.max(this.#latest, Math.floor(now / this.#sliceMs));
    return this.#latest;
  }
}
