// How many flows a host has in memory, which ones wait for a place, and which one is asked to leave its place.

/** Gets a place, and leaves it. */
export interface Evictable {
  /** Waits for others or for long, so that it may as well wait in the store. */
  readonly mayLeave: boolean;
  /** Asks it to leave memory, if it only waits. */
  leave(): void;
}

export class Capacity<F extends Evictable> {
  readonly #most: number;
  #used = 0;
  /** Flows that were refused, by their numbers, the first one first. */
  readonly #refused = new Set<number>();
  /** Flows that hold a place which they have not entered. */
  readonly #called = new Set<number>();
  /** More were refused than are kept: the store knows them. */
  #more = false;
  /** Flows that only wait, in the order in which they began to. */
  readonly #idle = new Set<F>();
  readonly #leaving = new Set<F>();

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#used >= this.#most;
  }

  /** Places that are free. */
  get room(): number {
    return Math.max(0, this.#most - this.#used);
  }

  /** A place for a flow that starts. It does not overtake those that wait for one. */
  start(): boolean {
    if (!this.isFull && this.#refused.size === 0 && !this.#more) {
      this.#used++;
      return true;
    }
    this.wantsMore();
    return false;
  }

  /** A place for a flow of the store. `isKept`: nothing in the store says that this host has to look for it. */
  enter(number: number, isKept = false): boolean {
    if (this.#called.delete(number)) return true;
    if (!this.isFull) {
      this.#refused.delete(number);
      this.#used++;
      return true;
    }
    if (isKept || this.#refused.size < this.#most) this.#refused.add(number);
    else this.#more = true;
    this.#evict();
    return false;
  }

  /** A place is free again. */
  exit(): void {
    this.#used--;
  }

  /** The flow that gets the next free place: it holds the place until it enters, or declines. */
  next(): number | undefined {
    if (this.isFull) return undefined;
    const [number] = this.#refused;
    if (number === undefined) return undefined;
    this.#refused.delete(number);
    this.#called.add(number);
    this.#used++;
    return number;
  }

  /** A flow that was called does not come, or has come. True: its place is free again. */
  decline(number: number): boolean {
    if (!this.#called.delete(number)) return false;
    this.exit();
    return true;
  }

  /** Whether a flow waits for a place. */
  awaits(number: number): boolean {
    return this.#refused.has(number) || this.#called.has(number);
  }

  /** The store has more flows that want a place. */
  wantsMore(): void {
    this.#more = true;
    this.#evict();
  }

  /** Whether the store has flows that were refused, and which fit in now. They are not waited for any more. */
  takesMore(): boolean {
    const takes = this.#more && !this.isFull;
    if (takes) this.#more = false;
    return takes;
  }

  /** A flow only waits, or works again. */
  idle(flow: F, isIdle: boolean): void {
    this.#leaving.delete(flow);
    if (!isIdle) {
      this.#idle.delete(flow);
      return;
    }
    this.#idle.add(flow);
    this.#evict();
  }

  /** Asks the flow that has waited longest to leave, if more want a place than are leaving one. */
  #evict(): void {
    const wanted = this.#refused.size + (this.#more ? 1 : 0);
    if (this.#leaving.size >= wanted) return;
    for (const flow of this.#idle) {
      if (this.#leaving.has(flow) || !flow.mayLeave) continue;
      this.#leaving.add(flow);
      flow.leave();
      return;
    }
  }
}
