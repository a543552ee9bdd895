// How far a schedule has come, as one number: what each actor has taken, and what has arrived for it, from whom and in which
// order. Two schedules that differ only in the order of independent steps come to the same states, and so to the same numbers.

import type { Fingerprints } from "../kit/fingerprints.js";

/** Murmur3's finalizer over two numbers. */
function mix(a: number, b: number): number {
  let h = Math.imul(a, 0x9e3779b1) ^ (b + 0x7f4a7c15);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** What one actor has gone through. */
class Past {
  /** A hash of all that it has taken. */
  taken = 0;
  /** A hash of all that has arrived for it. */
  arrived = 0;
  /** A hash of its sender's past, for each item that it has not taken. */
  readonly waiting: number[] = [];
}

export class Progress {
  private readonly pasts: (Past | undefined)[] = [];
  private sum = 0;
  private readonly seen: Fingerprints;
  /** The states that no earlier schedule has seen, in order. */
  readonly fresh: number[] = [];

  /** @param seen - the states of earlier schedules; those of this one are added */
  constructor(seen: Fingerprints) {
    this.seen = seen;
  }

  /** An item is on its way from one actor to another, or a promise of the other is to settle. */
  sent(from: number, to: number): void {
    const item = this.past(from).taken;
    const past = this.past(to);
    this.sum -= this.share(to, past);
    past.arrived = mix(past.arrived, item);
    past.waiting.push(item);
    this.sum += this.share(to, past);
  }

  /** An actor has taken an item, or `what` has happened to it. */
  went(actor: number, what: number): void {
    const past = this.past(actor);
    this.sum -= this.share(actor, past);
    past.taken = mix(mix(past.taken, what), past.waiting.shift() ?? 0);
    this.sum += this.share(actor, past);
  }

  /** Called after each step. */
  stepped(): void {
    const state = this.sum | 0;
    if (this.seen.add(state)) this.fresh.push(state);
  }

  private past(actor: number): Past {
    // Numbers below 0 belong to systems: 0, -1, 1, -2, … become 0, 1, 2, 3, …
    const index = (actor << 1) ^ (actor >> 31);
    let past = this.pasts[index];
    if (past === undefined) {
      past = new Past();
      this.pasts[index] = past;
    }
    return past;
  }

  private share(actor: number, { taken, arrived }: Past): number {
    return mix(mix(taken, arrived), actor + 1);
  }
}
