// Policies: how much is in flight, how failures are retried, and what is too much. A pipeline has them for all of its routes, a route
// for itself; what a route leaves out comes from its pipeline, and what that leaves out from PIPELINE_DEFAULTS.

import type { Backoff } from "../../process/backoff.js";

/** How a message that an adapter failed on is tried again. */
export interface RetryPolicy {
  /** How often a message is tried in a route at most, 1 or more. Attempts that a crash interrupted count. */
  readonly attempts: number;
  /** The waits between the attempts. */
  readonly backoff: Backoff;
}

/** How a route works. */
export interface RoutePolicy {
  /** Most messages in work at a time. In flight are at most min(prefetch, concurrency). */
  readonly concurrency: number;
  /** Most messages that the route keeps in memory, ready for its adapters. */
  readonly prefetch: number;
  /** How long one attempt at a message may take, in milliseconds. */
  readonly timeoutMs: number;
  /** How failures are retried. */
  readonly retry: RetryPolicy;
  /** The route waits while a queue that it publishes to holds this many messages. */
  readonly highWaterMark: number;
  /** Most messages that the route publishes before they are committed. */
  readonly fanOut: number;
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
export const PIPELINE_DEFAULTS: { readonly route: RoutePolicy; readonly pipeline: PipelinePolicy } = {
  route: {
    concurrency: 1,
    prefetch: 1_000,
    timeoutMs: 60_000,
    retry: { attempts: 3, backoff: { minMs: 1_000, maxMs: 60_000 } },
    highWaterMark: 10_000,
    fanOut: 500,
  },
  pipeline: { inFlight: 30, maxHops: 100, maxMessageBytes: 1_048_576 },
};

/** The policy of a route: what it leaves out comes from the defaults of its pipeline, and then from PIPELINE_DEFAULTS. */
export function policyOf(
  defaults: Partial<RoutePolicy> | undefined,
  own: Partial<Omit<RoutePolicy, "retry">> & { readonly retry?: Partial<RetryPolicy> | undefined },
): RoutePolicy {
  const base = PIPELINE_DEFAULTS.route;
  const policy: Record<string, unknown> = { ...base };
  for (const name of Object.keys(base) as (keyof RoutePolicy)[])
    for (const given of [defaults ?? {}, own]) if (given[name] !== undefined) policy[name] = given[name];
  policy.retry = { ...base.retry, ...defaults?.retry, ...own.retry };
  return policy as unknown as RoutePolicy;
}
