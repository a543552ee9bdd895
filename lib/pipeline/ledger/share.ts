// How many messages of a queue a host may have taken, where other hosts take from the same queue: what it settles in two intervals, and
// never fewer than it needs to keep its workers busy. So a slow host leaves the rest to the others, however much its route wants to have in
// memory. Pure.

/** Messages that a host may have taken for each one that it can work on at a time. */
const AHEAD = 2;
const FEWEST = 4;

export class Share {
  readonly #fewest: number;
  readonly #intervalMs: number;
  #began = 0;
  #settled = 0;
  /** Settled in the interval before. */
  #before = 0;

  /** @param inWork - how many messages the host can work on at a time */
  constructor(inWork: number, intervalMs: number) {
    this.#fewest = Math.max(FEWEST, AHEAD * inWork);
    this.#intervalMs = intervalMs;
  }

  /** A message was settled. */
  settled(): void {
    this.#settled++;
  }

  /** The most messages that the host may have taken. @param now - milliseconds of a clock that does not step back */
  most(now: number): number {
    const intervals = Math.floor((now - this.#began) / this.#intervalMs);
    if (intervals > 0) {
      this.#before = intervals === 1 ? this.#settled : 0;
      this.#settled = 0;
      this.#began += intervals * this.#intervalMs;
    }
    return Math.max(this.#fewest, AHEAD * Math.max(this.#before, this.#settled));
  }
}
