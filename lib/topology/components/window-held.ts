// What a window machine holds: items in the order of their positions, from which windows are cut. The windows
// come in order too, each reaching at least as far as the one before, so that a window is always what is held
// from the first item up to the window's end.

/** What is handed over as one window. */
export interface WindowView<T> {
  /** All that is in the window: time windows in the order of times, count windows in that of arrival. */
  readonly tuples: readonly T[];
  /** Those of them that were not in the last window that was done. */
  readonly added: readonly T[];
  /**
   * Those of the last window that was done that are not in this one. They are settled: nothing can be
   * anchored to them.
   */
  readonly removed: readonly T[];
  /** Time windows: its first millisecond. Count windows: how many tuples came before its first. */
  readonly start: number;
  /** Time windows: the first millisecond after it. Count windows: how many tuples came up to its last. */
  readonly end: number;
}

interface Entry<T> {
  readonly at: number;
  item: T;
  held: boolean;
  inLast: boolean;
}

const itemOf = <T>(entry: Entry<T>): T => entry.item;

/** The items of one machine, the window that is being worked on, and the last one that was done. */
export class HeldItems<T> {
  private entries: Entry<T>[] = [];
  private window: Entry<T>[] = [];
  private last: Entry<T>[] = [];

  get size(): number {
    return this.entries.length;
  }

  /** The lowest position held. */
  get first(): number | undefined {
    return this.entries[0]?.at;
  }

  /** Behind all that have the same position. */
  insert(at: number, item: T): void {
    const entry = { at, item, held: true, inLast: false };
    const end = this.entries.at(-1);
    if (end === undefined || end.at <= at) {
      this.entries.push(entry);
      return;
    }
    const place = this.rank((other) => other <= at);
    this.entries.splice(place, 0, entry);
  }

  /** The first item at this position for which that is so. With `other`, that takes its place. */
  find(at: number, matches: (item: T) => boolean, other?: T): T | undefined {
    for (let place = this.before(at); this.entries[place]?.at === at; place++) {
      const entry = this.entries[place] as Entry<T>;
      const { item } = entry;
      if (!matches(item)) continue;
      if (other !== undefined) entry.item = other;
      return item;
    }
    return undefined;
  }

  /** Begins the window of all that is held below `end`. It is done, withdrawn or to be cut again before the next. */
  cut(start: number, end: number): WindowView<T> {
    this.window = this.entries.slice(0, this.before(end));
    return {
      tuples: this.window.map(itemOf),
      added: this.window.filter((entry) => !entry.inLast).map(itemOf),
      // Behind a later window that was done before, some are held that are not in this one.
      removed: this.last.filter((entry) => !entry.held || entry.at >= end).map(itemOf),
      start,
      end,
    };
  }

  /**
   * The window is done. Its items in `settled` are not held any more, and neither are those below `from`,
   * which are returned.
   */
  done(from: number, settled: ReadonlySet<T>): T[] {
    const { window } = this;
    for (const entry of this.last) entry.inLast = false;
    for (const entry of window) entry.inLast = true;
    this.last = window;
    this.window = [];
    const released: T[] = [];
    for (const entry of this.entries.splice(0, this.before(from))) {
      entry.held = false;
      if (!settled.has(entry.item)) released.push(entry.item);
    }
    if (settled.size > 0) {
      for (const entry of window) if (settled.has(entry.item)) entry.held = false;
      this.entries = this.entries.filter((entry) => entry.held);
    }
    return released;
  }

  /** The window will be cut again. Its items in `settled` are not held any more. */
  again(settled: ReadonlySet<T>): void {
    const { window } = this;
    this.window = [];
    if (settled.size === 0) return;
    for (const entry of window) if (settled.has(entry.item)) entry.held = false;
    this.entries = this.entries.filter((entry) => entry.held);
  }

  /** The window is as if it had not been: its items are not held any more, and are returned. */
  withdraw(): T[] {
    const { window } = this;
    this.window = [];
    this.entries.splice(0, window.length);
    return letGo(window);
  }

  /** Nothing is held any more. Returns what was. */
  clear(): T[] {
    const { entries } = this;
    this.entries = [];
    return letGo(entries);
  }

  private before(position: number): number {
    return this.rank((at) => at < position);
  }

  /** How many are held at positions that `precede`, which all others follow. */
  private rank(precede: (at: number) => boolean): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (precede((this.entries[middle] as Entry<T>).at)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function letGo<T>(entries: readonly Entry<T>[]): T[] {
  for (const entry of entries) entry.held = false;
  return entries.map(itemOf);
}
