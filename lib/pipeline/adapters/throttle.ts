// Lets messages pass at a rate.

import { only } from "../../process/known-options.js";
import { callable } from "../../process/options.js";
import { rateLimiter } from "../../service/protection/limiter.js";
import type { Adapter } from "../definition/adapter.js";
import { perKernel } from "../definition/per-kernel.js";
import { checkName } from "../definition/queue.js";
import { ADAPTER_DEFAULTS } from "./defaults.js";

/** Options of {@link throttle}. */
export interface ThrottleOptions<T> {
  /** At most so many messages pass in any `perMs`, wherever it begins, 1 or more. They pass at equal distances. */
  readonly permits: number;
  /** The time in which so many pass, in milliseconds, 0.001 or more. Default 1,000. */
  readonly perMs?: number;
  /** How many may pass at once after a quiet time, 1 or more: so many less one more pass in some `perMs`. Default 1. */
  readonly burst?: number;
  /** A rate for each of these keys. Default: one for all messages. */
  readonly key?: (value: T) => string;
}

/**
 * Lets messages pass at a rate, in the order of their arrival: all executions of this adapter on one host share it. A message waits
 * without using the processor, no longer than its attempt may take: a route whose messages wait for long needs a larger `timeoutMs`.
 *
 * @throws OptionError
 * @example const gently = throttle("gently", { permits: 10, perMs: 1_000 });
 */
export function throttle<T>(name: string, options: ThrottleOptions<T>): Adapter<T, T> {
  checkName("name", name);
  only("", options, ["permits", "perMs", "burst", "key"]);
  const { permits, perMs = 1_000, burst = 1, key } = options;
  if (key !== undefined) callable("key", key);
  const definition = rateLimiter({
    permits,
    perMs,
    burst,
    label: name,
    // The attempt has a time limit of its own, and routes limit how many messages wait.
    timeoutMs: Number.POSITIVE_INFINITY,
    maxWaiting: ADAPTER_DEFAULTS.throttleWaiting,
    maxKeys: ADAPTER_DEFAULTS.throttleKeys,
  });
  const limiterOf = perKernel((system) => definition.local(system));
  return {
    name,
    async process(value, ctx) {
      const { kernel, signal } = ctx;
      await limiterOf(kernel).acquire({ signal, ...(key === undefined ? {} : { key: key(value) }) });
      return value;
    },
  };
}
