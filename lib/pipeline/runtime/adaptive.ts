// The adaptive concurrency of one route: the machine, and the notifications of its decisions.

import { type AdaptiveEvent, decide, initial } from "../../process/adaptive-machine.js";
import type { Kernel } from "../../process/kernel.js";
import type { AdaptivePolicy } from "../definition/policy.js";
import type { ConcurrencyChange } from "./events.js";

/** Where a route is. */
type RouteNames = Pick<ConcurrencyChange, "pipeline" | "execution" | "route">;

/** Least attempts of a window, where the policy does not say. */
const WINDOW = 10;

export class Adaptive {
  readonly #kernel: Kernel;
  readonly #place: RouteNames;
  readonly #limited: (limit: number) => void;
  #state;

  /** @param limited - called when the route may have another number of workers */
  constructor(
    kernel: Kernel,
    { pipeline, execution, route }: RouteNames,
    { targetMs, window = WINDOW }: AdaptivePolicy,
    most: number,
    limited: (limit: number) => void,
  ) {
    this.#kernel = kernel;
    this.#place = { pipeline, execution, route };
    this.#limited = limited;
    this.#state = initial({ targetMs, window, most });
  }

  /** Most workers now. */
  get limit(): number {
    return this.#state.limit;
  }

  /** For the attempts that begin now. */
  get epoch(): number {
    return this.#state.epoch;
  }

  /** The median of the last window. */
  get medianMs(): number | undefined {
    return this.#state.medianMs;
  }

  take(event: AdaptiveEvent): void {
    const from = this.#state.limit;
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    for (const { limit, because } of effects) {
      this.#limited(limit);
      this.#publish({ from, to: limit, because });
    }
  }

  #publish(change: Pick<ConcurrencyChange, "from" | "to" | "because">): void {
    const { events, shared } = this.#kernel;
    shared?.listeners("read");
    if (!events.wants.concurrency) return;
    events.publish("concurrency", { ...this.#place, ...change, medianMs: this.#state.medianMs });
  }
}
