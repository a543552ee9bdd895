// A queue as a value. Taking and adding an item return a new queue and leave the old one as it was, in constant time.

/**
 * A section of a log that several queues share. The newest queue adds to the log in place. Every other queue reads only
 * up to its own end, so it does not see the new items.
 */
export class Queue<T> {
  readonly #log: T[];
  readonly #from: number;
  readonly #to: number;

  private constructor(log: T[], from: number, to: number) {
    this.#log = log;
    this.#from = from;
    this.#to = to;
  }

  /** A queue of these items, the first one first. */
  static of<T>(items: Iterable<T> = []): Queue<T> {
    const log = [...items];
    return new Queue(log, 0, log.length);
  }

  get length(): number {
    return this.#to - this.#from;
  }

  get first(): T | undefined {
    return this.#from < this.#to ? this.#log[this.#from] : undefined;
  }

  /** The queue without its first item. When no item is left, the queue releases the log. */
  withoutFirst(): Queue<T> {
    return this.length <= 1 ? Queue.of<T>() : new Queue(this.#log, this.#from + 1, this.#to);
  }

  /** The queue with these items added behind the others. */
  with(...items: readonly [T, ...T[]]): Queue<T> {
    return this.concat(items);
  }

  concat(items: Iterable<T>): Queue<T> {
    // Another queue has added to a log that continues beyond this queue. A log whose larger part lies before this queue
    // should be freed. In both cases, this queue copies its items to a new log.
    const shared = this.#to < this.#log.length || this.#from > this.length;
    const log = shared ? [...this] : this.#log;
    const from = shared ? 0 : this.#from;
    for (const item of items) log.push(item);
    return new Queue(log, from, log.length);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let index = this.#from; index < this.#to; index++) yield this.#log[index] as T;
  }
}
