// What a search knows about its scenario besides the footprints of steps. When schedules show more of it, the search begins anew.

export class Knowledge {
  /** Code sees the order of all spawns, so spawns depend on each other. */
  readonly ordersSpawns: boolean;
  /** The keys of the actors that share memory with others, so that all of their steps depend on each other. */
  readonly sharers: ReadonlySet<string>;
  #seesOrder: boolean;
  readonly #shares: Set<string>;

  constructor(ordersSpawns = false, sharers: ReadonlySet<string> = new Set()) {
    this.ordersSpawns = ordersSpawns;
    this.sharers = sharers;
    this.#seesOrder = ordersSpawns;
    this.#shares = new Set(sharers);
  }

  sawOrder(): void {
    this.#seesOrder = true;
  }

  sawSharing(actor: string): void {
    this.#shares.add(actor);
  }

  /** Schedules have shown more than the search knows. */
  get isOutdated(): boolean {
    return this.#seesOrder !== this.ordersSpawns || this.#shares.size !== this.sharers.size;
  }

  /** All that schedules have shown, for a new search. */
  next(): Knowledge {
    return new Knowledge(this.#seesOrder, new Set(this.#shares));
  }
}
