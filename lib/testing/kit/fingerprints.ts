// A set of 32-bit fingerprints, made for millions of them: open addressing in one typed array.

const FIRST_CAPACITY = 1_024;
/** A fingerprint 0 would be an empty place. It shares this one with the fingerprint 1. */
const ZERO = 1;

export class Fingerprints {
  size = 0;
  #table = new Int32Array(FIRST_CAPACITY);

  /** Returns whether the fingerprint was absent. */
  add(fingerprint: number): boolean {
    const value = fingerprint | 0 || ZERO;
    const place = this.#place(value);
    if (this.#table[place] === value) return false;
    this.#table[place] = value;
    if (++this.size * 2 > this.#table.length) this.#grow();
    return true;
  }

  has(fingerprint: number): boolean {
    const value = fingerprint | 0 || ZERO;
    return this.#table[this.#place(value)] === value;
  }

  /** The place of a value, or the empty place where it belongs. */
  #place(value: number): number {
    const mask = this.#table.length - 1;
    let place = Math.imul(value, 0x9e3779b1) & mask;
    while (this.#table[place] !== 0 && this.#table[place] !== value) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Int32Array(before.length * 2);
    for (const value of before) if (value !== 0) this.#table[this.#place(value)] = value;
  }
}
