// When a node is killed: at so many departures, which a seed chooses. Which node it hits is chosen among those that are up then.

import { mulberry32 } from "../flights/chaos.js";

/** The first and the last tenth of the flights see no kill: there is a cluster before, and time to see the loss after. */
const MARGIN = 0.1;

export class Kills {
  readonly #random: () => number;
  /** Departures at which a node is killed, the last one first. */
  readonly #due: number[];

  constructor(flights: number, kills: number, seed: number) {
    const random = mulberry32(seed);
    const from = flights * MARGIN;
    const range = flights - 2 * from;
    this.#due = Array.from({ length: kills }, () => Math.floor(from + random() * range)).sort(
      (a, b) => b - a,
    );
    this.#random = random;
  }

  /** The one of `up` that is killed now, if one is. While none is up, the kill waits for a later departure. */
  victim(departed: number, up: readonly string[]): string | undefined {
    const due = this.#due.at(-1);
    if (due === undefined || departed < due || up.length === 0) return undefined;
    this.#due.pop();
    return up[Math.floor(this.#random() * up.length)];
  }
}
