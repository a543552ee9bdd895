// The items that a window table holds, in the order of their positions. Windows are cut from them in order, and each
// window reaches at least as far as the one before. So a window always consists of all held items up to the window's end.

/** One window, as `execute` gets it. */
export interface WindowView<T> {
  /**
   * All tuples of the window: in windows of time in the order of times, in windows by count in order of arrival. Of a window of event
   * time that another host has handed over again, some are settled.
   */
  readonly tuples: readonly T[];
  /** The tuples that were not in the last window that was done. */
  readonly added: readonly T[];
  /**
   * The tuples of the last window that was done which are not in this one. They are settled, so nothing can be anchored
   * to them.
   */
  readonly removed: readonly T[];
  /** Windows of time: the first millisecond. Windows by count: how many tuples came before the first one of the window. */
  readonly start: number;
  /** Windows of time: the first millisecond after the window. Windows by count: how many tuples came up to the last one. */
  readonly end: number;
}

interface Entry<T> {
  readonly at: number;
  item: T;
  held: boolean;
  inLast: boolean;
}

const itemOf = <T>(entry: Entry<T>): T => entry.item;

/** The items of one table, the window in progress, and the last window that was done. */
export class HeldItems<T> {
  #entries: Entry<T>[] = [];
  #window: Entry<T>[] = [];
  #last: Entry<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** The lowest position held. */
  get first(): number | undefined {
    return this.#entries[0]?.at;
  }

  /** Inserts an item, after all items with the same position. */
  insert(at: number, item: T): void {
    const entry = { at, item, held: true, inLast: false };
    const end = this.#entries.at(-1);
    if (end === undefined || end.at <= at) {
      this.#entries.push(entry);
      return;
    }
    const place = this.#rank((other) => other <= at);
    this.#entries.splice(place, 0, entry);
  }

  /** The first item at this position that matches. If `other` is given, it replaces that item. */
  find(at: number, matches: (item: T) => boolean, other?: T): T | undefined {
    for (let place = this.#before(at); this.#entries[place]?.at === at; place++) {
      const entry = this.#entries[place] as Entry<T>;
      const { item } = entry;
      if (!matches(item)) continue;
      if (other !== undefined) entry.item = other;
      return item;
    }
    return undefined;
  }

  /** Begins the window of all held items below `end`. `done`, `withdraw` or `again` has to follow before the next `cut`. */
  cut(start: number, end: number): WindowView<T> {
    this.#window = this.#entries.slice(0, this.#before(end));
    return {
      tuples: this.#window.map(itemOf),
      added: this.#window.filter((entry) => !entry.inLast).map(itemOf),
      // Behind a later window that was done before, some are held that are not in this one.
      removed: this.#last.filter((entry) => !entry.held || entry.at >= end).map(itemOf),
      start,
      end,
    };
  }

  /**
   * The window is done. Its items in `settled` and all items below `from` are no longer held. Returns the latter, without
   * those in `settled`.
   */
  done(from: number, settled: ReadonlySet<T>): T[] {
    const window = this.#window;
    for (const entry of this.#last) entry.inLast = false;
    for (const entry of window) entry.inLast = true;
    this.#last = window;
    this.#window = [];
    const released: T[] = [];
    for (const entry of this.#entries.splice(0, this.#before(from))) {
      entry.held = false;
      if (!settled.has(entry.item)) released.push(entry.item);
    }
    if (settled.size > 0) {
      for (const entry of window) if (settled.has(entry.item)) entry.held = false;
      this.#entries = this.#entries.filter((entry) => entry.held);
    }
    return released;
  }

  /** The window will be cut again. Its items in `settled` are no longer held. */
  again(settled: ReadonlySet<T>): void {
    const window = this.#window;
    this.#window = [];
    if (settled.size === 0) return;
    for (const entry of window) if (settled.has(entry.item)) entry.held = false;
    this.#entries = this.#entries.filter((entry) => entry.held);
  }

  /** Cancels the window. Its items are no longer held; returns them. */
  withdraw(): T[] {
    const window = this.#window;
    this.#window = [];
    this.#entries.splice(0, window.length);
    return release(window);
  }

  /** Removes all items, and returns them. */
  clear(): T[] {
    const entries = this.#entries;
    this.#entries = [];
    return release(entries);
  }

  #before(position: number): number {
    return this.#rank((at) => at < position);
  }

  /** How many held items have positions that `precede`. All others come after them. */
  #rank(precede: (at: number) => boolean): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (precede((this.#entries[middle] as Entry<T>).at)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function release<T>(entries: readonly Entry<T>[]): T[] {
  for (const entry of entries) entry.held = false;
  return entries.map(itemOf);
}
