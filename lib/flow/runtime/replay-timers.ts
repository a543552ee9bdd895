// The timers that the code of a late replay has set. They fire when the replay lets them, one at a time, and not by the clock: the longest
// first, so in another order than on the run that was recorded. Timers of one length fire in the order in which they were set, as a host's do.

/** Most timers that fire between two outcomes: code that sets a timer in each timer goes on. */
const MOST = 100;

export class ReplayTimers {
  readonly #pending = new Set<ReplayTimer>();
  #fired = 0;

  set(fn: () => unknown, ms: number): ReplayTimer {
    const timer = new ReplayTimer(this.#pending, fn, ms);
    this.#pending.add(timer);
    return timer;
  }

  /** Fires one, if there is one. */
  fire(): boolean {
    let next: ReplayTimer | undefined;
    for (const timer of this.#pending) if (next === undefined || timer.ms > next.ms) next = timer;
    if (next === undefined || this.#fired >= MOST) return false;
    this.#fired++;
    next.close();
    try {
      next.fn();
    } catch {
      // On the run itself this would have ended the program. A replay says only whether the code takes the recorded way.
    }
    return true;
  }

  /** An outcome is about to come. */
  rested(): void {
    this.#fired = 0;
  }
}

/** The timer that code gets when it sets one. It can do all that a timer of Node can do. */
export class ReplayTimer {
  readonly fn: () => unknown;
  readonly ms: number;
  readonly #pending: Set<ReplayTimer>;

  constructor(pending: Set<ReplayTimer>, fn: () => unknown, ms: number) {
    this.#pending = pending;
    this.fn = fn;
    this.ms = ms;
  }

  close(): void {
    this.#pending.delete(this);
  }
  [Symbol.dispose](): void {
    this.close();
  }
  hasRef(): boolean {
    return true;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  /** Begins anew: behind those of its length. */
  refresh(): this {
    this.#pending.delete(this);
    this.#pending.add(this);
    return this;
  }
}
