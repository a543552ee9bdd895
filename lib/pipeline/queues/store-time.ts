// The time of a store, read seldom: between two readings it goes on as this process measures time, so that a clock that is set back
// holds nothing up and repeats nothing.

import type { Environment } from "../../process/environment.js";
import type { Store } from "../../store/index.js";

export class StoreTime {
  readonly #environment: Environment;
  readonly #store: Store;
  #offsetMs = 0;

  private constructor(environment: Environment, store: Store) {
    this.#environment = environment;
    this.#store = store;
  }

  static async of(environment: Environment, store: Store): Promise<StoreTime> {
    const time = new StoreTime(environment, store);
    await time.read();
    return time;
  }

  /** Asks the store. The time never goes back in this process. */
  async read(): Promise<void> {
    const now = await this.#store.clock();
    this.#offsetMs = Math.max(this.#offsetMs, now - this.#environment.now());
  }

  /** Whole milliseconds since 1970. */
  now(): number {
    return Math.floor(this.#environment.now() + this.#offsetMs);
  }
}
