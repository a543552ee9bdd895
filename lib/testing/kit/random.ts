// A small seeded generator for strategies: the same seed gives the same numbers on every machine.

/** Random numbers from a seed: sfc32, from PractRand. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = stream | 0;
    this.#c = (seed / 4_294_967_296) | 0;
    for (let i = 0; i < 12; i++) this.bits();
  }

  /** 32 random bits, as a number from 0 to 2^32 - 1. */
  bits(): number {
    const mixed = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + mixed;
    return mixed >>> 0;
  }

  /** A number in [0, 1). */
  unit(): number {
    return this.bits() / 4_294_967_296;
  }

  /** A whole number from 0 to `n` - 1. */
  below(n: number): number {
    return Math.floor(this.unit() * n);
  }
}
