// Random numbers and ids that follow from a flow's seed: the same at every replay.

/** Pseudorandom numbers of a seed (sfc32, seeded by FNV-1a). Not for secrets. */
export class Seeded {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    let hash = 2_166_136_261;
    const next = (): number => {
      for (let i = 0; i < seed.length; i++) hash = Math.imul(hash ^ seed.charCodeAt(i), 16_777_619);
      hash = Math.imul(hash ^ 0x5bd1e995, 16_777_619);
      return hash | 0;
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    for (let i = 0; i < 12; i++) this.bits();
  }

  /** A whole number of 32 bits. */
  bits(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** A number in [0, 1), of 53 bits. */
  random(): number {
    return (this.bits() * 2_097_152 + (this.bits() >>> 11)) / 9_007_199_254_740_992;
  }
}
