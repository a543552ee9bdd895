// The options of a rate limiter, and their checks.

import { OptionError } from "../../process/errors.js";
import { checked, maybe, ms, whole } from "../../process/option-schema.js";
import { count, text } from "../../process/options.js";
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

const CHECKS = {
  permits: whole(1),
  perMs: ms(0.001),
  burst: maybe(whole(1)),
  maxWaiting: whole(0, Number.POSITIVE_INFINITY),
  timeoutMs: ms(0, Number.POSITIVE_INFINITY),
  maxKeys: whole(1),
  patienceMs: ms(0),
  label: text,
};
const DEFAULTS = { label: "limiter", ...PROTECTION_DEFAULTS.limiter };

/** @throws OptionError */
export function checkLimiter(given: LimiterOptions): LimiterSettings {
  const {
    permits,
    perMs,
    maxWaiting,
    maxKeys,
    burst = permits,
    ...settings
  } = checked("", given, CHECKS, DEFAULTS);
  const rate = rateOf(permits, perMs, burst);
  // Beyond this the units of a bucket would be rounded.
  if (!Number.isSafeInteger(rate.full))
    throw new OptionError("burst", burst, "small enough for burst x perMs to be counted exactly");
  return { ...settings, burst, config: { ...rate, maxWaiting, maxKeys } };
}

/** The permits that one call asks of a limiter. */
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
