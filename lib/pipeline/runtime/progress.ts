// How far an execution is, and how fast it goes.

import type { LedgerCounts } from "../ledger/ledger.js";

/** The progress of a route on the host that is asked. */
export interface RouteProgress {
  /** The name of the route. */
  readonly route: string;
  /** Messages and batches in work. */
  readonly working: number;
  /** Most of them at this time: the concurrency of the route, or what its adaptive concurrency allows. */
  readonly limit: number;
  /** The median latency of the last attempts, in milliseconds. Undefined: the route does not measure it, or has not yet. */
  readonly medianMs: number | undefined;
  /** The adapters whose circuit breaker is not closed: the messages of the route wait for them. */
  readonly broken: readonly string[];
}

/** How far an execution is. */
export interface PipelineProgress {
  /** Messages that sources have given, and those that were there at the start. */
  readonly inputs: number;
  /** Messages that were settled, dead letters included. */
  readonly done: number;
  /** Messages that became dead letters. */
  readonly dead: number;
  /** Messages that are still to be worked on, and sources that may give more. */
  readonly pending: number;
  /** Messages a second, over the last ten seconds. */
  readonly rate: number;
  /** How many milliseconds it takes until nothing is pending, if it goes on so. Undefined: unknown. */
  readonly estimateMs: number | undefined;
  /** The progress of each route on this host, upstream first. Empty: the execution does not run there. */
  readonly routes: readonly RouteProgress[];
}

/** The rate is that of so many milliseconds. */
const WINDOW_MS = 10_000;
/** A sample is taken when the last one is so old. */
const SAMPLE_MS = 250;

interface Sample {
  readonly at: number;
  readonly done: number;
}

/** Measures how fast messages are settled. */
export class RateMeter {
  readonly #samples: Sample[] = [];

  /** @param at - milliseconds of a clock that does not step back */
  note(at: number, done: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && at - last.at < SAMPLE_MS) return;
    this.#samples.push({ at, done });
    while (this.#samples.length > 2 && at - (this.#samples[1] as Sample).at > WINDOW_MS)
      this.#samples.shift();
  }

  progress(
    at: number,
    { inputs, done, dead, pending }: LedgerCounts,
    routes: readonly RouteProgress[],
  ): PipelineProgress {
    const first = this.#samples[0];
    const isKnown = first !== undefined && at > first.at;
    const rate = isKnown ? ((done - first.done) * 1_000) / (at - first.at) : 0;
    const estimateMs = rate > 0 ? (pending * 1_000) / rate : undefined;
    return { inputs, done, dead, pending, rate, estimateMs, routes };
  }
}
