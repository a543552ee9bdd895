// What every kind of supervisor may be told, its defaults (OTP's), and how that is checked.

import { type Backoff, checkBackoff } from "../process/backoff.js";
import type { SpawnOptions } from "../process/behaviour.js";
import { OptionError } from "../process/errors.js";
import { count, delay, text } from "../process/options.js";
import type { RestartLimits } from "./restart-rule.js";

/** Options of every supervisor. */
export interface SupervisionOptions {
  /** Restarts allowed within `periodMs`; one more, and the supervisor ends with `shutdown`. Default 1. */
  readonly intensity?: number;
  /** Default 5,000. */
  readonly periodMs?: number;
  /** Waits before restarts, longer each time, instead of restarting at once. Restarts count against `intensity` all the same. */
  readonly backoff?: Backoff;
  /** What to call the supervisor in reports. Default `supervisor`, or `dynamic supervisor`. */
  readonly label?: string;
  /** Whether its restarts are reported, besides the event `restart`. Default true. */
  readonly report?: boolean;
  /** Registers the supervisor under this name. */
  readonly name?: string;
}

export const SUPERVISION_DEFAULTS: { readonly intensity: number; readonly periodMs: number } = {
  intensity: 1,
  periodMs: 5_000,
};

/** @throws OptionError */
export function checkLimits(options: SupervisionOptions): RestartLimits {
  return {
    intensity: count("intensity", options.intensity ?? SUPERVISION_DEFAULTS.intensity, 0, true),
    periodMs: delay("periodMs", options.periodMs ?? SUPERVISION_DEFAULTS.periodMs, 1, true),
    backoff: options.backoff === undefined ? undefined : checkBackoff("backoff", options.backoff),
  };
}

/** Whether a supervisor is to be quiet about restarts. @throws OptionError */
export function checkQuiet({ report = true }: SupervisionOptions): boolean {
  if (typeof report !== "boolean") throw new OptionError("report", report, "true or false");
  return !report;
}

/** How a supervisor's own process is spawned. @throws OptionError */
export function checkNaming(options: SupervisionOptions, label: string): SpawnOptions {
  return {
    label: text("label", options.label ?? label),
    trapExit: true,
    // It ends when its children have, and their shutdown times are limits enough.
    shutdown: Number.POSITIVE_INFINITY,
    ...(options.name === undefined ? {} : { name: text("name", options.name) }),
  };
}
