// The options of a service's health, their defaults in one table, and their checks.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay, flag, oneOf } from "../../process/options.js";

/**
 * A check of the user's: it passes unless it throws, rejects or returns `false`.
 *
 * @param signal - aborted when the time of the check is up
 */
export type CheckFunction = (signal: AbortSignal) => unknown;

/** A check with options. */
export interface HealthCheck {
  /** The check. */
  readonly check: CheckFunction;
  /**
   * What it counts for. A service that is not `ready` gets no requests; one that is not `live` is restarted. Default `ready`: a
   * restart does not help when a database is down.
   */
  readonly for?: "ready" | "live";
  /** The part of the tree that it is about, such as `floor`. Default: the whole. */
  readonly part?: string;
  /** How many milliseconds it may take. Default 1,000. */
  readonly timeoutMs?: number;
  /** For how many milliseconds its answer counts. Default 1,000. */
  readonly cacheMs?: number;
}

/** The limits of a service's health. */
export interface HealthLimits {
  /** How many milliseconds one reading may take. Supervisors that have not answered by then are `unknown`. */
  readonly timeoutMs: number;
  /** A process of the tree with more messages than this in its mailbox makes the service not live. */
  readonly maxMailboxDepth: number;
  /** An event loop that is later than this many milliseconds makes the service not live. */
  readonly maxEventLoopDelayMs: number;
}

/** The default of every limit of a service's health. */
export const HEALTH_DEFAULTS: HealthLimits & {
  /** How many milliseconds a check may take. */
  readonly checkTimeoutMs: number;
  /** For how many milliseconds the answer of a check counts. */
  readonly checkCacheMs: number;
} = {
  timeoutMs: 2_000,
  maxMailboxDepth: Number.POSITIVE_INFINITY,
  maxEventLoopDelayMs: Number.POSITIVE_INFINITY,
  checkTimeoutMs: 1_000,
  checkCacheMs: 1_000,
};

/** Options of a service's health. */
export interface HealthOptions extends Partial<HealthLimits> {
  /** Checks by name. */
  readonly checks?: { readonly [name: string]: CheckFunction | HealthCheck };
  /** Whether the endpoint shows all parts, and the errors of checks. Errors may hold secrets. Default false. */
  readonly details?: boolean;
}

/** A checked check. */
export interface FullCheck extends Required<HealthCheck> {
  readonly name: string;
}

/** Checked options. */
export interface HealthSettings extends HealthLimits {
  readonly checks: readonly FullCheck[];
  readonly details: boolean;
}

/** @throws OptionError */
export function checkHealth(given: HealthOptions = {}): HealthSettings {
  only("health", given, ["timeoutMs", "maxMailboxDepth", "maxEventLoopDelayMs", "checks", "details"]);
  const defaults = HEALTH_DEFAULTS;
  const { checks = {} } = given;
  if (typeof checks !== "object" || checks === null)
    throw new OptionError("health.checks", checks, "an object of functions");
  return {
    timeoutMs: delay("health.timeoutMs", given.timeoutMs ?? defaults.timeoutMs, 1),
    maxMailboxDepth: count(
      "health.maxMailboxDepth",
      given.maxMailboxDepth ?? defaults.maxMailboxDepth,
      0,
      true,
    ),
    maxEventLoopDelayMs: delay(
      "health.maxEventLoopDelayMs",
      given.maxEventLoopDelayMs ?? defaults.maxEventLoopDelayMs,
      1,
      true,
    ),
    checks: Object.entries(checks).map(([name, check]) => checkOne(name, check)),
    details: flag("health.details", given.details ?? false),
  };
}

function checkOne(name: string, given: CheckFunction | HealthCheck): FullCheck {
  const path = `health.checks.${name}`;
  const options: HealthCheck = typeof given === "function" ? { check: given } : given;
  only(path, options, ["check", "for", "part", "timeoutMs", "cacheMs"]);
  if (typeof options.check !== "function")
    throw new OptionError(`${path}.check`, options.check, "a function");
  const { part = "" } = options;
  if (typeof part !== "string")
    throw new OptionError(`${path}.part`, part, "the path of a part, such as `floor`");
  return {
    name,
    check: options.check,
    for: oneOf(`${path}.for`, options.for ?? "ready", ["ready", "live"]),
    part,
    timeoutMs: delay(`${path}.timeoutMs`, options.timeoutMs ?? HEALTH_DEFAULTS.checkTimeoutMs, 1),
    cacheMs: delay(`${path}.cacheMs`, options.cacheMs ?? HEALTH_DEFAULTS.checkCacheMs),
  };
}
