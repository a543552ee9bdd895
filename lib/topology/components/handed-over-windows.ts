// The windows that a task under another host has handed over, with their tuples. Only what failed comes again there: a window that is
// handed over again has the others from here. No clock.

import type { WindowView } from "./window-held.js";

export interface HandedOverWindowsOptions<T> {
  /** How long a window is kept at least after it was handed over, in milliseconds. */
  readonly keepMs: number;
  /** Items kept at most, counted in each window that has them. With more, the oldest windows are dropped. */
  readonly max: number;
  /** The same for an item and for its retry. Undefined: nothing tells the retry of this item from other items. */
  readonly hashOf: (item: T) => number | undefined;
  readonly timeOf: (item: T) => number;
}

interface Kept<T> {
  readonly items: readonly T[];
  readonly at: number;
}

export class HandedOverWindows<T> {
  readonly #keepMs: number;
  readonly #max: number;
  readonly #hashOf: (item: T) => number | undefined;
  readonly #timeOf: (item: T) => number;
  /** By start; the window that was handed over the longest time ago is first. */
  readonly #windows = new Map<number, Kept<T>>();
  #size = 0;

  constructor({ keepMs, max, hashOf, timeOf }: HandedOverWindowsOptions<T>) {
    this.#keepMs = keepMs;
    this.#max = max;
    this.#hashOf = hashOf;
    this.#timeOf = timeOf;
  }

  /**
   * The window with what it had when it was handed over before, and what it has now, in the order of times. It is about to be handed
   * over: should that fail, what it had is still kept for the next time.
   */
  whole(window: WindowView<T>, now: number): WindowView<T> {
    const kept = this.#windows.get(window.start);
    if (kept === undefined) return window;
    this.#keep(window.start, kept.items, now);
    const others = this.#without(kept.items, window.tuples);
    if (others.length === 0) return window;
    const all = [...others, ...window.tuples].map((item) => ({ item, time: this.#timeOf(item) }));
    all.sort((one, other) => one.time - other.time);
    return { ...window, tuples: all.map(({ item }) => item) };
  }

  /** A window was handed over, with all of these items. */
  done({ start, tuples }: WindowView<T>, now: number): void {
    this.#keep(start, tuples, now);
    for (const [oldest, { at }] of this.#windows) {
      if (this.#size <= this.#max && now - at <= this.#keepMs) return;
      this.#drop(oldest);
    }
  }

  /** Of equal items, each one that came again replaces one: the others may be no retries. An item without a hash stays. */
  #without(items: readonly T[], again: readonly T[]): readonly T[] {
    const times = new Map<number, number>();
    for (const item of again) {
      const hash = this.#hashOf(item);
      if (hash !== undefined) times.set(hash, (times.get(hash) ?? 0) + 1);
    }
    return items.filter((item) => {
      const hash = this.#hashOf(item);
      const left = hash === undefined ? undefined : times.get(hash);
      if (hash === undefined || left === undefined || left === 0) return true;
      times.set(hash, left - 1);
      return false;
    });
  }

  #keep(start: number, items: readonly T[], at: number): void {
    this.#drop(start);
    this.#windows.set(start, { items, at });
    this.#size += items.length;
  }

  #drop(start: number): void {
    this.#size -= this.#windows.get(start)?.items.length ?? 0;
    this.#windows.delete(start);
  }
}
