// The options of a rate limiter, and their checks.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay, text } from "../../process/options.js";
import { PROTECTION_DEFAULTS } from "./defaults.js";
import { type LimiterConfig, rateOf } from "./limiter-machine.js";

/** Options of a rate limiter. */
export interface LimiterOptions {
  /** So many permits in each `perMs`, 1 or more. */
  readonly permits: number;
  /** The time in which a key gets `permits` new permits, in milliseconds, 0.001 or more. */
  readonly perMs: number;
  /** How many permits may be taken at once after a quiet time, 1 or more. Default: `permits`. */
  readonly burst?: number;
  /** How many callers may wait, over all keys; 0 refuses at once. Default 1,000. */
  readonly maxWaiting?: number;
  /** How long a caller waits, in milliseconds. `Infinity` for no limit. Default 30,000. */
  readonly timeoutMs?: number;
  /** How many keys the limiter remembers, 1 or more: a further one takes the place of the one used longest ago. Default 10,000. */
  readonly maxKeys?: number;
  /** How many milliseconds callers wait for the process of the limiter, while it restarts. Default 5,000. */
  readonly patienceMs?: number;
  /** The name of the limiter in errors and reports. Default `limiter`. */
  readonly label?: string;
}

/** The options of a limiter, checked and complete. */
export interface LimiterSettings {
  readonly label: string;
  readonly burst: number;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly config: LimiterConfig;
}

const KNOWN: readonly (keyof LimiterOptions)[] = [
  ...(["permits", "perMs", "burst", "maxWaiting", "timeoutMs", "maxKeys", "patienceMs", "label"] as const),
];

/** @throws OptionError */
export function checkLimiter(given: LimiterOptions): LimiterSettings {
  only("", given, KNOWN);
  const defaults = PROTECTION_DEFAULTS.limiter;
  const permits = count("permits", given.permits, 1);
  const perMs = delay("perMs", given.perMs, 0.001);
  const burst = count("burst", given.burst ?? permits, 1);
  const rate = rateOf(permits, perMs, burst);
  // Beyond this the units of a bucket would be rounded.
  if (!Number.isSafeInteger(rate.full))
    throw new OptionError("burst", burst, "small enough for burst x perMs to be counted exactly");
  return {
    label: text("label", given.label ?? "limiter"),
    burst,
    timeoutMs: delay("timeoutMs", given.timeoutMs ?? defaults.timeoutMs, 0, true),
    patienceMs: delay("patienceMs", given.patienceMs ?? defaults.patienceMs, 0),
    config: {
      ...rate,
      maxWaiting: count("maxWaiting", given.maxWaiting ?? defaults.maxWaiting, 0, true),
      maxKeys: count("maxKeys", given.maxKeys ?? defaults.maxKeys, 1),
    },
  };
}

/** What one call wants of a limiter. */
export interface Wanted {
  readonly key: string;
  readonly permits: number;
}

/** @throws OptionError */
export function checkWanted(key: unknown, permits: unknown, burst: number): Wanted {
  if (typeof key !== "string") throw new OptionError("key", key, "a text");
  // More than a full bucket would never come together.
  if (count("permits", permits, 1) > burst)
    throw new OptionError("permits", permits, `at most ${burst}, the burst of the limiter`);
  return { key, permits: permits as number };
}
