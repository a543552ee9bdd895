// Which tuples a task has got lately, by hashes of what they carry: whether a tuple may be a retry of one of them. No clock.

export interface SeenTuplesOptions {
  /** How long a tuple is remembered at least, in milliseconds. */
  readonly keepMs: number;
  /** Tuples remembered at most. With more, the oldest half is forgotten early. */
  readonly max: number;
  /** The time of the first call: nothing is known of tuples before that. */
  readonly now: number;
}

/**
 * Remembers in two halves, each for `keepMs`: the older half is forgotten as a whole. A tuple is known to be new only while the memory
 * reaches back `keepMs`: not soon after the task's program has started, and not when so many tuples come that some are forgotten early.
 */
export class SeenTuples {
  readonly #keepMs: number;
  readonly #max: number;
  #young = new Set<number>();
  #old = new Set<number>();
  #youngSince: number;
  /** From this time on, no tuple is forgotten. */
  #completeSince: number;

  constructor({ keepMs, max, now }: SeenTuplesOptions) {
    this.#keepMs = keepMs;
    this.#max = max;
    this.#youngSince = now;
    this.#completeSince = now;
  }

  /** Notes a tuple. Returns whether an equal one may have come in the last `keepMs`. */
  note(hash: number, now: number): boolean {
    if (now - this.#youngSince >= this.#keepMs || this.#young.size >= this.#max / 2) {
      this.#old = this.#young;
      this.#young = new Set();
      this.#completeSince = this.#youngSince;
      this.#youngSince = now;
    }
    const mayBe = this.#young.has(hash) || this.#old.has(hash) || now - this.#completeSince < this.#keepMs;
    this.#young.add(hash);
    return mayBe;
  }

  /** Takes back the last note of a tuple that was known to be new. */
  forget(hash: number): void {
    this.#young.delete(hash);
  }
}
