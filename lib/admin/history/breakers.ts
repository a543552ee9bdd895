// The circuit breakers that are not closed, as far as their changes were seen.

import type { SystemEventMap } from "../../process/events.js";
import type { Overview } from "./operations.js";
import { shown } from "./texts.js";

/** Most breakers that are remembered. */
const MOST = 100;

export class Breakers {
  readonly #open = new Map<string, { readonly state: string; readonly since: number }>();

  /** @param at - in milliseconds since 1970 */
  changed({ breaker, to }: SystemEventMap["breaker"][0], at: number): void {
    const name = shown(breaker, "name");
    this.#open.delete(name);
    if (to === "closed") return;
    this.#open.set(name, { state: to, since: at });
    if (this.#open.size <= MOST) return;
    const [oldest] = this.#open.keys();
    this.#open.delete(oldest as string);
  }

  get all(): Overview["breakers"] {
    return [...this.#open].map(([name, { state, since }]) => ({ name, state, since }));
  }
}
