// The windows of time that a task has handed over. The log outlives the process of the task, so a restarted task knows it.

/** Runs of windows that the log can hold. */
const MAX_RUNS = 1_000;

/**
 * The starts of the windows that were handed over, stored as runs without a gap. A window without items is never handed
 * over, so data with gaps makes many runs. Beyond 1,000 runs the oldest is dropped, and everything up to its end counts
 * as handed over.
 */
export class WindowLog {
  readonly #everyMs: number;
  /** The first and the last start of each run, in order. There is a gap between two runs. */
  readonly #runs: number[] = [];
  /** Windows that start before this count as handed over. */
  #floor = Number.NEGATIVE_INFINITY;

  /** @param everyMs - milliseconds from the start of one window to that of the next */
  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Records that the window with this start was handed over. */
  add(start: number): void {
    if (this.firstOpen(start) !== start) return;
    const everyMs = this.#everyMs;
    const runs = this.#runs;
    let at = runs.length;
    while (at > 0 && (runs[at - 2] as number) > start) at -= 2;
    const joinsLower = at > 0 && runs[at - 1] === start - everyMs;
    const joinsUpper = at < runs.length && runs[at] === start + everyMs;
    if (joinsLower && joinsUpper) runs.splice(at - 1, 2);
    else if (joinsLower) runs[at - 1] = start;
    else if (joinsUpper) runs[at] = start;
    else runs.splice(at, 0, start, start);
    if (runs.length <= 2 * MAX_RUNS) return;
    this.#floor = (runs[1] as number) + everyMs;
    runs.splice(0, 2);
  }

  /** The window with this start is handed over again. It stays closed if it is older than all runs. */
  remove(start: number): void {
    const everyMs = this.#everyMs;
    const runs = this.#runs;
    const floor = this.#floor;
    if (start < floor) return;
    for (let at = 0; at < runs.length; at += 2) {
      const [first, last] = [runs[at] as number, runs[at + 1] as number];
      if (start < first || start > last) continue;
      const left = first < start ? [first, start - everyMs] : [];
      const right = start < last ? [start + everyMs, last] : [];
      runs.splice(at, 2, ...left, ...right);
      return;
    }
  }

  /** The first start, from this one on in steps of `everyMs`, of a window that was not handed over. */
  firstOpen(start: number): number {
    const everyMs = this.#everyMs;
    const runs = this.#runs;
    const from = Math.max(start, this.#floor);
    for (let at = runs.length - 2; at >= 0; at -= 2) {
      if ((runs[at] as number) > from) continue;
      return (runs[at + 1] as number) >= from ? (runs[at + 1] as number) + everyMs : from;
    }
    return from;
  }
}
