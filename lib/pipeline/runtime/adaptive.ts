// The adaptive concurrency of one route: the machine, and the notifications of its decisions.

import { type AdaptiveEvent, decide, initial } from "../../process/adaptive-machine.js";
import type { Kernel } from "../../process/kernel.js";
import type { AdaptivePolicy } from "../definition/policy.js";

/** A route with an adaptive concurrency may have another number of messages in work. */
export interface ConcurrencyChange {
  /** The pipeline. */
  readonly pipeline: string;
  /** The id of the execution. */
  readonly execution: string;
  /** The route. */
  readonly route: string;
  /** The limit before. */
  readonly from: number;
  /** The limit now. */
  readonly to: number;
  /** The route was quick and used all of its workers, it was slow, or an attempt took too long. */
  readonly because: "fast" | "slow" | "timeout";
  /** The median latency of the last window, in milliseconds. Undefined: there was none. */
  readonly medianMs: number | undefined;
}

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** The adaptive concurrency of a route has changed. */
    concurrency: [ConcurrencyChange];
  }
}

/** Which route it is. */
type RouteNames = Pick<ConcurrencyChange, "pipeline" | "execution" | "route">;

/** Least attempts of a window, where the policy does not say. */
const WINDOW = 10;

export class Adaptive {
  readonly #kernel: Kernel;
  readonly #context: RouteNames;
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
    this.#context = { pipeline, execution, route };
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
    events.publish("concurrency", { ...this.#context, ...change, medianMs: this.#state.medianMs });
  }
}
