// Windows of time: a window begins at each multiple of `everyMs`, and lasts `ms`. A window with items is handed over when
// time reaches its end.

import { HeldItems, type WindowView } from "./window-held.js";
import { WindowLog } from "./window-log.js";
import type { Added, WindowTable } from "./window-table.js";

export interface TimeWindowsOptions {
  /** Whole milliseconds. */
  readonly ms: number;
  /** Whole milliseconds, from 1 to `ms`. With `ms` itself, each item is in exactly one window. */
  readonly everyMs: number;
  /** Items held at the same time. */
  readonly maxHeld: number;
  /** Windows that an earlier process of the task handed over. Default: none. */
  readonly log?: WindowLog;
}

const NONE: ReadonlySet<never> = new Set();

/**
 * A window holds the items with `start <= time < end`. An item goes into each window that holds its time and is not handed
 * over yet, even when time has passed the window's end. An item without such a window is late. A flush hands over all
 * windows with items. A flushed window that had not ended may begin again, with later items.
 */
export class TimeWindows<T> implements WindowTable<T> {
  readonly #ms: number;
  readonly #everyMs: number;
  readonly #maxHeld: number;
  readonly #log: WindowLog;
  readonly #items = new HeldItems<T>();
  /**
   * Windows that end at this time or before are due. Whole milliseconds, like all bounds, so that no sum is rounded.
   */
  #time = Number.NEGATIVE_INFINITY;
  /** Start of the window in progress. */
  #start = 0;
  #flushing = false;
  /** During a flush, windows that start before this are handed over. */
  #flushed = Number.NEGATIVE_INFINITY;

  constructor({ ms, everyMs, maxHeld, log = new WindowLog(everyMs) }: TimeWindowsOptions) {
    this.#ms = ms;
    this.#everyMs = everyMs;
    this.#maxHeld = maxHeld;
    this.#log = log;
  }

  get held(): number {
    return this.#items.size;
  }

  add(time: number, item: T, again = false): Added {
    const whole = Math.floor(time);
    if (this.#firstOpen(whole) > this.#lastStart(whole)) return "late";
    if (this.#items.size >= this.#maxHeld && !again) return "full";
    this.#items.insert(time, item);
    return "held";
  }

  /** Whether an item of this time that matches is held. */
  has(time: number, matches: (item: T) => boolean): boolean {
    return this.#items.find(time, matches) !== undefined;
  }

  /** Replaces the first item of this time that matches, and returns the replaced item. */
  replace(time: number, matches: (item: T) => boolean, item: T): T | undefined {
    return this.#items.find(time, matches, item);
  }

  /** Whether the first window that holds this time has ended, or was handed over. */
  isBehind(time: number): boolean {
    const first = this.#firstStart(Math.floor(time));
    return first + this.#ms <= this.#time || this.#open(first) !== first;
  }

  /** All windows that hold this time are handed over again, if they have items. */
  reopen(time: number): void {
    const whole = Math.floor(time);
    const last = this.#lastStart(whole);
    for (let start = this.#firstStart(whole); start <= last; start += this.#everyMs) this.#log.remove(start);
  }

  tick(time: number): void {
    this.#time = Math.max(this.#time, Math.floor(time));
  }

  flush(): void {
    this.#flushing = true;
  }

  /** @param limit - windows that end after this are not due */
  next(limit: number = Number.POSITIVE_INFINITY): WindowView<T> | undefined {
    const { first } = this.#items;
    if (first === undefined) return undefined;
    // No later item has an earlier open window. A gap of any length is one step.
    const start = this.#firstOpen(Math.floor(first));
    const end = start + this.#ms;
    if (end > limit || (end > this.#time && !this.#flushing)) return undefined;
    this.#start = start;
    return this.#items.cut(start, end);
  }

  done(settled: ReadonlySet<T> = NONE): readonly T[] {
    const start = this.#start;
    if (this.#flushing) this.#flushed = start + this.#everyMs;
    if (start + this.#ms <= this.#time) this.#log.add(start);
    // Items before the next open window are in no later window.
    return this.#items.done(this.#open(start), settled);
  }

  failed(): readonly T[] {
    return this.#items.withdraw();
  }

  again(settled: ReadonlySet<T> = NONE): void {
    this.#items.again(settled);
  }

  clear(): readonly T[] {
    this.#flushing = false;
    this.#flushed = Number.NEGATIVE_INFINITY;
    return this.#items.clear();
  }

  /** Start of the first window that holds this time, or comes later, and was not handed over. */
  #firstOpen(time: number): number {
    return this.#open(this.#firstStart(time));
  }

  /** Start of the first window that holds this time. */
  #firstStart(time: number): number {
    return this.#lastStart(time - this.#ms) + this.#everyMs;
  }

  #open(start: number): number {
    return this.#log.firstOpen(Math.max(start, this.#flushed));
  }

  /** Start of the last window that holds this time. */
  #lastStart(time: number): number {
    const past = time % this.#everyMs;
    return past < 0 ? time - past - this.#everyMs : time - past;
  }
}
