// The progress of a schedule, as one number: the messages that each actor has taken, and those that have arrived for it, from whom and
// in which order. Two schedules that differ only in the order of independent steps come to the same states, and so to the same numbers.
// It runs after every step of every schedule: numbers in typed arrays, no objects.

import type { Fingerprints } from "../kit/fingerprints.js";

/** States after this many steps are sampled: one in so many, by their numbers, so that all schedules sample the same ones. */
const ALL_STEPS = 1_000;
const SAMPLE = 16;

const FIRST_ACTORS = 16;

/** Murmur3's finalizer over two numbers. */
function mix(a: number, b: number): number {
  let h = Math.imul(a, 0x9e3779b1) ^ (b + 0x7f4a7c15);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  return h ^ (h >>> 13);
}

export class Progress {
  /** For each actor: a hash of all that it has taken, a hash of all that has arrived, and its share of the sum. */
  #taken = new Int32Array(FIRST_ACTORS);
  #arrived = new Int32Array(FIRST_ACTORS);
  #shares = new Int32Array(FIRST_ACTORS);
  /** For each actor, the hash of its sender for each item that it has not taken. */
  readonly #waiting: number[][] = [];
  #sum = 0;
  #steps = 0;
  readonly #seen: Fingerprints;
  /** The states that no earlier schedule has seen, in order. */
  readonly fresh: number[] = [];

  /** @param seen - the states of earlier schedules; those of this one are added */
  constructor(seen: Fingerprints) {
    this.#seen = seen;
  }

  /** An item is on its way from one actor to another, or a promise of the other is to settle. */
  sent(from: number, to: number): void {
    const item = this.#taken[this.#index(from)] as number;
    const index = this.#index(to);
    this.#arrived[index] = mix(this.#arrived[index] as number, item);
    (this.#waiting[index] as number[]).push(item);
    this.#changed(index);
  }

  /** An actor has taken an item, or `what` has happened to it. */
  went(actor: number, what: number): void {
    const index = this.#index(actor);
    const waiting = this.#waiting[index] as number[];
    const item = waiting.length > 0 ? (waiting.shift() as number) : 0;
    this.#taken[index] = mix((this.#taken[index] as number) + what, item);
    this.#changed(index);
  }

  /** Called after each step. */
  stepped(): void {
    if (this.#steps++ >= ALL_STEPS && this.#sum % SAMPLE !== 0) return;
    if (this.#seen.add(this.#sum)) this.fresh.push(this.#sum);
  }

  #changed(index: number): void {
    const share = mix(mix(this.#taken[index] as number, this.#arrived[index] as number), index + 1);
    this.#sum = (this.#sum + share - (this.#shares[index] as number)) | 0;
    this.#shares[index] = share;
  }

  /** The place of an actor: 0, -1, 1, -2, … become 0, 1, 2, 3, … The numbers below 0 belong to systems. */
  #index(actor: number): number {
    const index = (actor << 1) ^ (actor >> 31);
    while (index >= this.#taken.length) this.#grow();
    while (index >= this.#waiting.length) this.#waiting.push([]);
    return index;
  }

  #grow(): void {
    const larger = (array: Int32Array): Int32Array<ArrayBuffer> => {
      const copy = new Int32Array(array.length * 2);
      copy.set(array);
      return copy;
    };
    this.#taken = larger(this.#taken);
    this.#arrived = larger(this.#arrived);
    this.#shares = larger(this.#shares);
  }
}
