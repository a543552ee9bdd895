// Policies: how much is in flight, how failures are retried, and what is too much. A pipeline has them for all of its routes, a route
// for itself; settings that a route leaves out come from its pipeline, or else from PIPELINE_DEFAULTS.

import type { Backoff } from "../../process/backoff.js";
import type { BreakerOptions } from "../../service/protection/breaker-options.js";

/** How a message that an adapter failed on is tried again. */
export interface RetryPolicy {
  /** How often a message is tried in a route at most, 1 or more. Attempts that the end of the process interrupted do not count. */
  readonly attempts: number;
  /** The waits between the attempts. An error whose `retryAfterMs` asks for a longer one gets it, up to an hour. */
  readonly backoff: Backoff;
}

/**
 * How often a message may end its process, as evidence says: its code called `process.exit`, threw an uncaught error, kept the
 * thread, or ran whenever the process died. An end without evidence, such as SIGKILL or the loss of power, counts for no message.
 */
export interface QuarantinePolicy {
  /** How often a message may do so, 1 or more, before it becomes a dead letter. */
  readonly ends: number;
  /** How long it waits before it is tried again. */
  readonly backoff: Backoff;
}

/** How many messages a route works on, by the latency of its attempts. */
export interface AdaptivePolicy {
  /**
   * The latency to stay below, in milliseconds: that of an attempt at a message, or of a batch in a route with batches. The route gets one
   * worker more while the median is below 0.8 of this and all workers are used, and a tenth fewer when it is above.
   */
  readonly targetMs: number;
  /** How many attempts the median is taken of, at least 10. As many as there are workers, if these are more. Default 10. */
  readonly window?: number;
}

/**
 * When a route stops calling an adapter that fails, and when it tries again: each adapter of the route has a circuit breaker by these
 * rules, for all executions on a system together. An error that says `retriable: false`, or gives the message up, is no failure of the
 * service. The limit of time is that of the route.
 */
export type BreakerPolicy = Omit<BreakerOptions, "label" | "timeoutMs" | "judge">;

/** How a route works. */
export interface RoutePolicy {
  /** Most messages in work at a time. In flight are at most min(prefetch, concurrency). */
  readonly concurrency: number;
  /** Finds out how many messages to work on at a time, from 1 to `concurrency`. `"none"`: always `concurrency`. */
  readonly adaptive: AdaptivePolicy | "none";
  /** Most messages that the route keeps in memory, ready for its adapters. */
  readonly prefetch: number;
  /** How long one attempt at a message may take, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * A call that takes longer than `timeoutMs` has failed, and its signal aborts. It keeps its place among the `concurrency` until it ends,
   * for at most so many milliseconds more. After that another call takes the place, beside the one that does not end. 0: at once.
   */
  readonly overrunMs: number;
  /**
   * While a circuit breaker of the route is open, its messages wait: they are not tried, and none of their attempts counts. Then a few
   * messages go first, as attempts like any other. `"none"`: adapters are called however many calls fail.
   */
  readonly breaker: BreakerPolicy | "none";
  /** How failures are retried. */
  readonly retry: RetryPolicy;
  /** How often messages may end their process. That counts apart from `retry.attempts`. */
  readonly quarantine: QuarantinePolicy;
  /** The route waits while a queue that it publishes to holds this many messages. */
  readonly highWaterMark: number;
  /** Most messages that the route publishes before they are committed. */
  readonly fanOut: number;
  /** The values of the messages that the route settles stay in the store, so that they can be replayed. A row more for each message. */
  readonly keepValues: boolean;
  /**
   * The lineage has hashes of the input and output of each call of an adapter, as they were then, even if they change later: the first 128
   * bits of the SHA-256 of the payload codec's output, as 32 hexadecimal digits. It needs `node:crypto`. A value that cannot be stored has
   * no hash. Where the codec answers later, no value has one.
   */
  readonly hashValues: boolean;
}

/** Limits of a whole execution. */
export interface PipelinePolicy {
  /** Most messages in work at a time, over all routes of an execution on one host. */
  readonly inFlight: number;
  /** A message that has passed this many routes becomes a dead letter, so that circles of routes end. */
  readonly maxHops: number;
  /**
   * Most bytes of a message, as the payload codec writes it. A larger result is a failure of the route that made it; a larger message of a
   * source ends the execution; one that is given at the start is refused. In memory alone, messages are not written and have no limit.
   */
  readonly maxMessageBytes: number;
}

/** The defaults of all policies. */
export const PIPELINE_DEFAULTS: {
  /** Of a route. */
  readonly route: RoutePolicy;
  /** Of a whole execution. */
  readonly pipeline: PipelinePolicy;
} = {
  route: {
    concurrency: 1,
    adaptive: "none",
    prefetch: 1_000,
    timeoutMs: 60_000,
    overrunMs: 60_000,
    breaker: "none",
    retry: { attempts: 3, backoff: { minMs: 1_000, maxMs: 60_000 } },
    quarantine: { ends: 3, backoff: { minMs: 60_000, maxMs: 3_600_000 } },
    highWaterMark: 10_000,
    fanOut: 500,
    keepValues: false,
    hashValues: false,
  },
  pipeline: { inFlight: 30, maxHops: 100, maxMessageBytes: 1_048_576 },
};

/** The policy of a route: settings that it leaves out come from the defaults of its pipeline, or else from PIPELINE_DEFAULTS. */
export function policyOf(
  defaults: Partial<RoutePolicy> | undefined,
  own: Partial<Omit<RoutePolicy, "retry" | "quarantine">> & {
    readonly retry?: Partial<RetryPolicy> | undefined;
    readonly quarantine?: Partial<QuarantinePolicy> | undefined;
  },
): RoutePolicy {
  const base = PIPELINE_DEFAULTS.route;
  const policy: Record<string, unknown> = { ...base };
  for (const name of Object.keys(base) as (keyof RoutePolicy)[])
    for (const given of [defaults ?? {}, own]) if (given[name] !== undefined) policy[name] = given[name];
  policy.retry = { ...base.retry, ...defaults?.retry, ...own.retry };
  policy.quarantine = { ...base.quarantine, ...defaults?.quarantine, ...own.quarantine };
  return policy as unknown as RoutePolicy;
}
