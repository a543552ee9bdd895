// The waits for the ends of flows. A wait that was given up is forgotten, so a caller that asks again and again does not fill the memory.

/** A wait; `open` is false once its caller has gone. */
interface Waiting {
  readonly open: boolean;
}

/** Waits that are kept before the first sweep. */
const FEW = 64;

/** Waits by the id of the flow. */
export class Waiters<W extends Waiting> {
  readonly #byId = new Map<string, W[]>();
  #size = 0;
  /** At this size, waits that were given up are removed: twice the number that was left the last time. */
  #sweepAt = FEW;

  /** Waits that are kept. At most twice as many as are open, or 64. */
  get size(): number {
    return this.#size;
  }

  ids(): string[] {
    return [...this.#byId.keys()];
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  add(id: string, waiter: W): void {
    const waiters = this.#byId.get(id);
    if (waiters === undefined) this.#byId.set(id, [waiter]);
    else waiters.push(waiter);
    if (++this.#size >= this.#sweepAt) this.#sweep();
  }

  remove(id: string, waiter: W): void {
    this.#keep(id, (one) => one !== waiter);
  }

  /** All that wait for a flow; they are forgotten. */
  take(id: string): readonly W[] {
    const waiters = this.#byId.get(id) ?? [];
    this.#byId.delete(id);
    this.#size -= waiters.length;
    return waiters;
  }

  #keep(id: string, isKept: (one: W) => boolean): void {
    const kept = this.take(id).filter(isKept);
    if (kept.length > 0) this.#byId.set(id, kept);
    this.#size += kept.length;
  }

  #sweep(): void {
    for (const id of this.ids()) this.#keep(id, ({ open }) => open);
    this.#sweepAt = Math.max(FEW, 2 * this.#size);
  }
}
