// The event that gates add to the events of a system.

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
