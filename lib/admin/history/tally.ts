// How often something happened within this minute, and within the one before: a count for each of the last 120 seconds.

const SECONDS = 120;

export class Tally {
  readonly #counts = new Array<number>(SECONDS).fill(0);
  /** Which second each count belongs to. */
  readonly #seconds = new Array<number>(SECONDS).fill(Number.NEGATIVE_INFINITY);

  /** @param at - in milliseconds */
  add(at: number): void {
    const second = Math.floor(at / 1_000);
    const place = second % SECONDS;
    if (this.#seconds[place] !== second) {
      this.#seconds[place] = second;
      this.#counts[place] = 0;
    }
    this.#counts[place] = (this.#counts[place] as number) + 1;
  }

  /** Within the 60 seconds up to this one, which is under way, or so many seconds before them. */
  minute(at: number, before = 0): number {
    const last = Math.floor(at / 1_000) - before;
    return this.#counts.reduce((sum, count, place) => {
      const second = this.#seconds[place] as number;
      return second <= last && second > last - 60 ? sum + count : sum;
    }, 0);
  }
}
