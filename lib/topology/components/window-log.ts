// Which windows of time a task has handed over. It outlives the task: the next process in its place knows what is done.

/** Runs of windows that are remembered one by one. */
const MOST_RUNS = 1_000;

/**
 * The starts of the windows that were handed over, as runs without a gap. A window without items is never handed over,
 * so data with gaps makes many runs: beyond 1,000 the oldest is forgotten, and everything up to its end counts as handed
 * over.
 */
export class WindowLog {
  private readonly everyMs: number;
  /** First and last start of each run, in order; between two runs there is a gap. */
  private readonly runs: number[] = [];
  /** Windows that start before this count as handed over. */
  private floor = Number.NEGATIVE_INFINITY;

  /** @param everyMs - milliseconds from the start of one window to that of the next */
  constructor(everyMs: number) {
    this.everyMs = everyMs;
  }

  /** The window that starts there was handed over. */
  add(start: number): void {
    if (this.firstOpen(start) !== start) return;
    const { runs, everyMs } = this;
    let at = runs.length;
    while (at > 0 && (runs[at - 2] as number) > start) at -= 2;
    const joinsLower = at > 0 && runs[at - 1] === start - everyMs;
    const joinsUpper = at < runs.length && runs[at] === start + everyMs;
    if (joinsLower && joinsUpper) runs.splice(at - 1, 2);
    else if (joinsLower) runs[at - 1] = start;
    else if (joinsUpper) runs[at] = start;
    else runs.splice(at, 0, start, start);
    if (runs.length <= 2 * MOST_RUNS) return;
    this.floor = (runs[1] as number) + everyMs;
    runs.splice(0, 2);
  }

  /** The first start from this one on, a multiple of `everyMs`, of a window that was not handed over. */
  firstOpen(start: number): number {
    const { runs, everyMs } = this;
    const from = Math.max(start, this.floor);
    for (let at = runs.length - 2; at >= 0; at -= 2) {
      if ((runs[at] as number) > from) continue;
      return (runs[at + 1] as number) >= from ? (runs[at + 1] as number) + everyMs : from;
    }
    return from;
  }
}
