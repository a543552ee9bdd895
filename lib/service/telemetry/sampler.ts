// Samples the first of many, and then one in so many. No randomness, so that a simulated run repeats.

/** Picks one in `n`; none when `n` is 0. */
export class Sampler {
  readonly #n: number;
  #left = 1;

  constructor(n: number) {
    this.#n = n;
  }

  picks(): boolean {
    if (this.#n === 1) return true;
    if (this.#n === 0 || --this.#left > 0) return false;
    this.#left = this.#n;
    return true;
  }
}
