// The options of every kind of supervisor, their defaults (OTP's) and their checks.

import { type Backoff, checkBackoff } from "../process/backoff.js";
import type { SpawnOptions } from "../process/behaviour.js";
import { OptionError } from "../process/errors.js";
import { count, delay, text } from "../process/options.js";
import type { RestartLimits } from "./restart-rule.js";

/** Options of every supervisor. */
export interface SupervisionOptions {
  /**
   * How many restarts are allowed within `periodMs`. After one more the supervisor stops its children and exits with
   * `shutdown`. Default 1.
   */
  readonly intensity?: number;
  /** The sliding window for `intensity`, in milliseconds. Default 5,000. */
  readonly periodMs?: number;
  /**
   * Waits before restarts, each longer than the one before. Such restarts count against `intensity` too. Default: no
   * waits.
   */
  readonly backoff?: Backoff;
  /** The name of the supervisor in reports. Default `supervisor`, or `dynamic supervisor`. */
  readonly label?: string;
  /** Whether restarts are reported, in addition to the event `restart`. Default true. */
  readonly report?: boolean;
  /** Registers the supervisor under this name. */
  readonly name?: string;
}

/** The defaults of a supervisor. */
export const SUPERVISION_DEFAULTS: {
  /** How many restarts are allowed within `periodMs`. */
  readonly intensity: number;
  /** The sliding window for `intensity`, in milliseconds. */
  readonly periodMs: number;
} = {
  intensity: 1,
  periodMs: 5_000,
};

/** The options that every supervisor has. */
export const SUPERVISION_OPTIONS: readonly (keyof SupervisionOptions)[] = [
  ...(["intensity", "periodMs", "backoff", "label", "report", "name"] as const),
];

/** @throws OptionError */
export function checkLimits(options: SupervisionOptions): RestartLimits {
  return {
    intensity: count("intensity", options.intensity ?? SUPERVISION_DEFAULTS.intensity, 0, true),
    periodMs: delay("periodMs", options.periodMs ?? SUPERVISION_DEFAULTS.periodMs, 1, true),
    backoff: options.backoff === undefined ? undefined : checkBackoff("backoff", options.backoff),
  };
}

/** Whether a supervisor prints no reports of restarts. @throws OptionError */
export function checkQuiet({ report = true }: SupervisionOptions): boolean {
  if (typeof report !== "boolean") throw new OptionError("report", report, "true or false");
  return !report;
}

/** How a supervisor's own process is spawned. @throws OptionError */
export function checkNaming(options: SupervisionOptions, label: string): SpawnOptions {
  return {
    label: text("label", options.label ?? label),
    trapExit: true,
    // A supervisor exits when its children have, and their shutdown times already limit that.
    shutdown: Number.POSITIVE_INFINITY,
    ...(options.name === undefined ? {} : { name: text("name", options.name) }),
  };
}
