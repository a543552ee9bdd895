// The options of a service's health, their defaults in one table, and their checks.

import { OptionError } from "../../process/errors.js";
import { among, checked, fn, ms, whole } from "../../process/option-schema.js";
import { flag } from "../../process/options.js";

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
   * Its use: readiness or liveness. A service that is not `ready` gets no requests; one that is not `live` is restarted. Default `ready`: a
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

const CHECKS = {
  timeoutMs: ms(1),
  maxMailboxDepth: whole(0, Number.POSITIVE_INFINITY),
  maxEventLoopDelayMs: ms(1, Number.POSITIVE_INFINITY),
  checks: (path: string, given: unknown): readonly FullCheck[] => {
    if (typeof given !== "object" || given === null)
      throw new OptionError(path, given, "an object of functions");
    return Object.entries(given).map(([name, check]) => checkOne(`${path}.${name}`, name, check));
  },
  details: flag,
};

/** @throws OptionError */
export function checkHealth(given: HealthOptions = {}): HealthSettings {
  return checked("health", given, CHECKS, { ...HEALTH_DEFAULTS, checks: {} as never, details: false });
}

const ONE = {
  check: fn<CheckFunction>(),
  for: among("ready", "live"),
  part: (path: string, given: unknown): string => {
    if (typeof given === "string") return given;
    throw new OptionError(path, given, "the path of a part, such as `floor`");
  },
  timeoutMs: ms(1),
  cacheMs: ms(0),
};

function checkOne(path: string, name: string, given: CheckFunction | HealthCheck): FullCheck {
  const { checkTimeoutMs: timeoutMs, checkCacheMs: cacheMs } = HEALTH_DEFAULTS;
  const options: HealthCheck = typeof given === "function" ? { check: given } : given;
  return { name, ...checked(path, options, ONE, { for: "ready", part: "", timeoutMs, cacheMs }) };
}
