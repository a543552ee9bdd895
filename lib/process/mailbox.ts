// The queue of one process. A field holds the first message. A ring is created only for the second message.
//
// An entry that ends while it is queued is withdrawn: it stops counting at once. It is removed when it reaches the head, or
// together with all other withdrawn entries when they fill more than half of the ring. So a withdrawal costs constant time.

import { GONE, isGone, isSpecial, type Withdrawable } from "./entries.js";

/** The result of `shift` when the queue is empty. No message can have this value. */
export const EMPTY: unique symbol = Symbol("empty");

const SMALLEST = 8;
const KEEP = 64;

/** A growing ring buffer: push and shift in constant time, removal anywhere for selective receive. */
export class Ring {
  items: unknown[] = new Array(SMALLEST).fill(EMPTY);
  head = 0;
  size = 0;
  /** Withdrawn entries that are still in the ring. */
  gone = 0;
  /** The depth at which the next `highWater` is due; see {@link Mailbox.isDeep}. */
  mark = 0;

  push(item: unknown): void {
    if (this.size === this.items.length) this.grow();
    this.items[(this.head + this.size) & (this.items.length - 1)] = item;
    this.size++;
  }

  unshift(item: unknown): void {
    if (this.size === this.items.length) this.grow();
    this.head = (this.head - 1) & (this.items.length - 1);
    this.items[this.head] = item;
    this.size++;
  }

  shift(): unknown {
    const item = this.items[this.head];
    this.items[this.head] = EMPTY;
    this.head = (this.head + 1) & (this.items.length - 1);
    this.size--;
    return item;
  }

  /** Takes the oldest entry that is not withdrawn, or returns {@link EMPTY}. */
  shiftLive(): unknown {
    while (this.size > 0) {
      const item = this.shift();
      if (this.gone === 0 || !isGone(item)) return item;
      this.gone--;
    }
    return EMPTY;
  }

  at(index: number): unknown {
    return this.items[(this.head + index) & (this.items.length - 1)];
  }

  /** Removes the entry at `index`. Moves the entries before it or those behind it: the smaller number of them. */
  removeAt(index: number): unknown {
    const { items, head } = this;
    const mask = items.length - 1;
    const item = this.at(index);
    this.size--;
    if (index < this.size >> 1) {
      for (let i = index; i > 0; i--) items[(head + i) & mask] = items[(head + i - 1) & mask];
      items[head] = EMPTY;
      this.head = (head + 1) & mask;
    } else {
      for (let i = index; i < this.size; i++) items[(head + i) & mask] = items[(head + i + 1) & mask];
      items[(head + this.size) & mask] = EMPTY;
    }
    return item;
  }

  /** Removes all withdrawn entries. Returns how many of them were among the first `before` entries. */
  clear(before: number): number {
    const { items, head, size } = this;
    const mask = items.length - 1;
    let kept = 0;
    let cleared = 0;
    for (let i = 0; i < size; i++) {
      const item = items[(head + i) & mask];
      if (!isGone(item)) items[(head + kept++) & mask] = item;
      else if (i < before) cleared++;
    }
    for (let i = kept; i < size; i++) items[(head + i) & mask] = EMPTY;
    this.size = kept;
    this.gone = 0;
    return cleared;
  }

  /**
   * An entry was withdrawn.
   *
   * @param before - a place in the ring
   * @returns how many places nearer to the head the entry at `before` is now
   */
  withdrawn(_entry: Withdrawable, before: number): number {
    return ++this.gone * 2 > this.size ? this.clear(before) : 0;
  }

  private grow(): void {
    const old = this.items;
    const wider: unknown[] = new Array(old.length * 2).fill(EMPTY);
    for (let i = 0; i < this.size; i++) wider[i] = old[(this.head + i) & (old.length - 1)];
    this.items = wider;
    this.head = 0;
  }
}

/**
 * A queue, first in, first out, with removal anywhere. Mailbox is a base class, so that a process and its mailbox are
 * one object.
 */
export class Mailbox {
  protected first: unknown = EMPTY;
  /** The mailbox may hold entries that are not plain messages. */
  protected mixed = false;
  protected ring: Ring | undefined = undefined;

  /** Messages and signals waiting. */
  get depth(): number {
    return this.length - (this.ring === undefined ? 0 : this.ring.gone);
  }

  /** Places taken, withdrawn entries included. */
  get length(): number {
    return this.first === EMPTY ? 0 : 1 + (this.ring === undefined ? 0 : this.ring.size);
  }

  get isEmpty(): boolean {
    return this.first === EMPTY;
  }

  push(item: unknown): void {
    if (this.first === EMPTY) this.first = item;
    else if (this.ring === undefined) {
      this.ring = new Ring();
      this.ring.push(item);
    } else this.ring.push(item);
  }

  /** Puts an entry before all others. */
  unshift(item: unknown): void {
    if (this.first !== EMPTY) {
      this.ring ??= new Ring();
      this.ring.unshift(this.first);
    }
    this.first = item;
  }

  /** Takes the oldest entry, or returns {@link EMPTY}. */
  shift(): unknown {
    const item = this.first;
    const { ring } = this;
    if (ring === undefined) {
      this.first = EMPTY;
    } else if (ring.size > 0) {
      this.first = ring.gone === 0 ? ring.shift() : ring.shiftLive();
    } else {
      this.first = EMPTY;
      if (ring.items.length > KEEP) this.ring = undefined;
      else ring.mark = 0;
    }
    return item;
  }

  /**
   * The entry at `index`, which stays in the queue. 0 is the oldest. Behind the first entry, withdrawn entries count
   * too.
   */
  peek(index: number): unknown {
    if (index === 0) return this.first;
    return this.ring === undefined || index > this.ring.size ? EMPTY : this.ring.at(index - 1);
  }

  /**
   * Finds the first entry that fits or is not a plain message, from the second entry in the queue on. This is the loop
   * of a selective receive behind many messages, small enough for the compiler to optimise as a whole.
   *
   * @param place - where to begin; incremented before each call of `fits`, since `fits` may change the queue
   */
  skim(place: { scanned: number }, fits: (message: never) => boolean): unknown {
    const { ring } = this;
    if (ring === undefined) return EMPTY;
    while (place.scanned <= ring.size) {
      const item = ring.items[(ring.head + place.scanned++ - 1) & (ring.items.length - 1)];
      if ((this.mixed && isSpecial(item)) || fits(item as never)) return item;
    }
    return EMPTY;
  }

  /** Removes the entry at `index` and keeps the order of the others. */
  removeAt(index: number): unknown {
    if (index === 0) return this.shift();
    if (this.ring === undefined || index > this.ring.size) return EMPTY;
    return this.ring.removeAt(index - 1);
  }

  /**
   * Removes an entry that has ended, wherever it waits in the queue.
   *
   * @param before - a place in the queue
   * @returns how many places nearer to the head the entry at `before` is now
   */
  withdraw(entry: Withdrawable, before = 0): number {
    if (entry.queuedIn !== this) return 0;
    const { length, ring } = this;
    if (entry === this.first || ring === undefined) {
      entry.queuedIn = undefined;
      this.shift();
      return Math.min(before, length - this.length);
    }
    entry.queuedIn = GONE;
    return ring.withdrawn(entry, before - 1);
  }

  /**
   * True once when `least` entries are queued, and once at each doubling. The count begins again when the mailbox has
   * become empty.
   */
  protected isDeep(least: number): boolean {
    const { ring, depth } = this;
    if (ring === undefined || depth < least || depth < ring.mark) return false;
    ring.mark = depth * 2;
    return true;
  }

  /** Empties the mailbox and returns what was in it, oldest first. */
  drain(): unknown[] {
    const all: unknown[] = [];
    for (let item = this.shift(); item !== EMPTY; item = this.shift()) all.push(item);
    return all;
  }
}
