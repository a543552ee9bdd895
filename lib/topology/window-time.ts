// Windows of time: one begins at each multiple of `every`, and lasts `ms`. It is handed over when time has
// come to its end, if anything is in it.

import { HeldItems, type WindowView } from "./window-held.js";
import type { Added, WindowMachine } from "./window-machine.js";

export interface TimeWindowsOptions {
  /** Whole milliseconds. */
  readonly ms: number;
  /** Whole milliseconds, from 1 to `ms`; the same as `ms`: each item is in one window. */
  readonly every: number;
  /** Items held at the same time. */
  readonly maxHeld: number;
}

const NONE: ReadonlySet<never> = new Set();

/**
 * A window holds the items with `start <= time < end`. Flushed, it hands over all windows that have items,
 * whether or not their time has come; an item that comes after that begins such a window again.
 */
export class TimeWindows<T> implements WindowMachine<T> {
  private readonly ms: number;
  private readonly every: number;
  private readonly maxHeld: number;
  private readonly items = new HeldItems<T>();
  /**
   * Windows that end by then are due. It is whole milliseconds, as all bounds are, so that no sum is rounded.
   */
  private time = Number.NEGATIVE_INFINITY;
  /** Windows that start before this are over. */
  private from = Number.NEGATIVE_INFINITY;
  /** Start of the window that is being worked on. */
  private start = 0;
  private flushing = false;

  constructor({ ms, every, maxHeld }: TimeWindowsOptions) {
    this.ms = ms;
    this.every = every;
    this.maxHeld = maxHeld;
  }

  get held(): number {
    return this.items.size;
  }

  add(time: number, item: T): Added {
    if (this.lastStart(Math.floor(time)) < this.from) return "late";
    if (this.items.size >= this.maxHeld) return "full";
    this.items.insert(time, item);
    return "held";
  }

  tick(time: number): void {
    this.time = Math.max(this.time, Math.floor(time));
  }

  flush(): void {
    this.flushing = true;
  }

  next(): WindowView<T> | undefined {
    const { first } = this.items;
    if (first !== undefined) {
      // The earliest window with an item in it: a gap of any length is one step.
      const start = Math.max(this.firstStart(Math.floor(first)), this.from);
      const end = start + this.ms;
      if (this.flushing || end <= this.time) {
        this.start = start;
        return this.items.cut(start, end);
      }
    }
    this.from = Math.max(this.from, this.firstStart(this.time));
    return undefined;
  }

  done(settled: ReadonlySet<T> = NONE): readonly T[] {
    this.from = this.start + this.every;
    return this.items.done(this.from, settled);
  }

  failed(): readonly T[] {
    this.from = this.start + this.every;
    return this.items.withdraw();
  }

  clear(): readonly T[] {
    this.flushing = false;
    this.from = this.firstStart(this.time);
    return this.items.clear();
  }

  /** Start of the last window that holds this time. */
  private lastStart(time: number): number {
    const past = time % this.every;
    return past < 0 ? time - past - this.every : time - past;
  }

  /** Start of the first window that ends after this time. */
  private firstStart(time: number): number {
    return time === Number.NEGATIVE_INFINITY ? time : this.lastStart(time - this.ms) + this.every;
  }
}
