// Windows by count: after every `every` items there is a window with the last `count` items.

import { HeldItems, type WindowView } from "./window-held.js";
import type { Added, WindowTable } from "./window-table.js";

export interface CountWindowsOptions {
  readonly count: number;
  /** From 1 to `count`. With `count` itself, each item is in exactly one window. */
  readonly every: number;
}

const NONE: ReadonlySet<never> = new Set();

/**
 * The first windows have fewer than `count` items. A flush hands over one last window with the last `count` items, if any
 * item came since the window before. Failed and settled items leave a gap: no older items replace them. If each window is
 * taken when it is due, at most `count` items are held.
 */
export class CountWindows<T> implements WindowTable<T> {
  readonly #count: number;
  readonly #every: number;
  readonly #items = new HeldItems<T>();
  /** Number of items that came. */
  #came = 0;
  /** The value of `came` at the last `clear`, and at the end of the last window. */
  #base = 0;
  #closed = 0;
  #end = 0;
  #flushing = false;

  constructor({ count, every }: CountWindowsOptions) {
    this.#count = count;
    this.#every = every;
  }

  get held(): number {
    return this.#items.size;
  }

  add(_time: number, item: T): Added {
    this.#items.insert(this.#came++, item);
    return "held";
  }

  tick(_time: number): void {}

  flush(): void {
    this.#flushing = true;
  }

  next(): WindowView<T> | undefined {
    const end = this.#closed + this.#every;
    if (end <= this.#came) this.#end = end;
    else if (this.#flushing && this.#closed < this.#came) this.#end = this.#came;
    else return undefined;
    return this.#items.cut(Math.max(this.#end - this.#count, this.#base), this.#end);
  }

  done(settled: ReadonlySet<T> = NONE): readonly T[] {
    this.#closed = this.#end;
    return this.#items.done(this.#closed + this.#every - this.#count, settled);
  }

  failed(): readonly T[] {
    this.#closed = this.#end;
    return this.#items.withdraw();
  }

  again(settled: ReadonlySet<T> = NONE): void {
    this.#items.again(settled);
  }

  clear(): readonly T[] {
    this.#flushing = false;
    this.#base = this.#came;
    this.#closed = this.#came;
    return this.#items.clear();
  }
}
