// Windows of time: one begins at each multiple of `everyMs`, and lasts `ms`. It is handed over when time has
// come to its end, if anything is in it.

import { HeldItems, type WindowView } from "./window-held.js";
import { WindowLog } from "./window-log.js";
import type { Added, WindowMachine } from "./window-machine.js";

export interface TimeWindowsOptions {
  /** Whole milliseconds. */
  readonly ms: number;
  /** Whole milliseconds, from 1 to `ms`; the same as `ms`: each item is in one window. */
  readonly everyMs: number;
  /** Items held at the same time. */
  readonly maxHeld: number;
  /** Windows that were handed over before, by an earlier machine in the same place. Default: none. */
  readonly log?: WindowLog;
}

const NONE: ReadonlySet<never> = new Set();

/**
 * A window holds the items with `start <= time < end`. An item belongs into each window that holds its time and was not
 * handed over, also when time has passed the end of that window; an item is late when there is no such window. Flushed, it
 * hands over all windows that have items; one whose time has not come may begin again, with items that come after that.
 */
export class TimeWindows<T> implements WindowMachine<T> {
  private readonly ms: number;
  private readonly everyMs: number;
  private readonly maxHeld: number;
  private readonly log: WindowLog;
  private readonly items = new HeldItems<T>();
  /**
   * Windows that end by then are due. It is whole milliseconds, as all bounds are, so that no sum is rounded.
   */
  private time = Number.NEGATIVE_INFINITY;
  /** Start of the window that is being worked on. */
  private start = 0;
  private flushing = false;
  /** Windows that start before this are over for as long as it is flushed. */
  private flushed = Number.NEGATIVE_INFINITY;

  constructor({ ms, everyMs, maxHeld, log = new WindowLog(everyMs) }: TimeWindowsOptions) {
    this.ms = ms;
    this.everyMs = everyMs;
    this.maxHeld = maxHeld;
    this.log = log;
  }

  get held(): number {
    return this.items.size;
  }

  add(time: number, item: T, again = false): Added {
    const whole = Math.floor(time);
    if (this.firstOpen(whole) > this.lastStart(whole)) return "late";
    if (this.items.size >= this.maxHeld && !again) return "full";
    this.items.insert(time, item);
    return "held";
  }

  /** Whether an item of this time is held for which that is so. */
  has(time: number, matches: (item: T) => boolean): boolean {
    return this.items.find(time, matches) !== undefined;
  }

  /** Puts an item in the place of the first of this time for which that is so, and returns that. */
  replace(time: number, matches: (item: T) => boolean, item: T): T | undefined {
    return this.items.find(time, matches, item);
  }

  tick(time: number): void {
    this.time = Math.max(this.time, Math.floor(time));
  }

  flush(): void {
    this.flushing = true;
  }

  /** @param limit - windows that end after this are not due */
  next(limit: number = Number.POSITIVE_INFINITY): WindowView<T> | undefined {
    const { first } = this.items;
    if (first === undefined) return undefined;
    // No later item has an open window before this one. A gap of any length is one step.
    const start = this.firstOpen(Math.floor(first));
    const end = start + this.ms;
    if (end > limit || (end > this.time && !this.flushing)) return undefined;
    this.start = start;
    return this.items.cut(start, end);
  }

  done(settled: ReadonlySet<T> = NONE): readonly T[] {
    const { start } = this;
    if (this.flushing) this.flushed = start + this.everyMs;
    if (start + this.ms <= this.time) this.log.add(start);
    // Items before the next open window are in no window any more.
    return this.items.done(this.open(start), settled);
  }

  failed(): readonly T[] {
    return this.items.withdraw();
  }

  again(settled: ReadonlySet<T> = NONE): void {
    this.items.again(settled);
  }

  clear(): readonly T[] {
    this.flushing = false;
    this.flushed = Number.NEGATIVE_INFINITY;
    return this.items.clear();
  }

  /** Start of the first window that holds this time and was not handed over; or of a later one. */
  private firstOpen(time: number): number {
    return this.open(this.lastStart(time - this.ms) + this.everyMs);
  }

  private open(start: number): number {
    return this.log.firstOpen(Math.max(start, this.flushed));
  }

  /** Start of the last window that holds this time. */
  private lastStart(time: number): number {
    const past = time % this.everyMs;
    return past < 0 ? time - past - this.everyMs : time - past;
  }
}
