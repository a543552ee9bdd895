// The options of every kind of supervisor, their defaults (OTP's) and their checks.

import { type Backoff, checkBackoff } from "../process/backoff.js";
import type { SpawnOptions } from "../process/behaviour.js";
import {
  type Check,
  type Checked,
  type Checks,
  checked,
  maybe,
  ms,
  whole,
} from "../process/option-schema.js";
import { flag, text } from "../process/options.js";
import { supervisorSpawn } from "../process/start.js";
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

/** The checked options of a supervisor. */
export interface Supervision<C extends Checks> {
  readonly limits: RestartLimits;
  /** How its own process is spawned. */
  readonly spawn: SpawnOptions;
  /** It prints no reports of restarts. */
  readonly quiet: boolean;
  /** Those that only this kind of supervisor has. */
  readonly own: Checked<C>;
}

/**
 * Checks the options of a supervisor.
 *
 * @param own - the checks of the options that only this kind of supervisor has, and their defaults
 * @throws OptionError
 */
export function checkSupervision<C extends Checks>(
  given: SupervisionOptions,
  label: string,
  own: C,
  defaults: Partial<Checked<C>>,
): Supervision<C> {
  const values = checked("", given, { ...checks(), ...own }, {
    ...SUPERVISION_DEFAULTS,
    label,
    report: true,
    ...defaults,
  } as never) as Checked<ReturnType<typeof checks>> & Checked<C>;
  const { intensity, periodMs, backoff } = values;
  return {
    limits: { intensity, periodMs, backoff },
    spawn: supervisorSpawn(values.label, values.name),
    quiet: !values.report,
    own: values,
  };
}

function checks() {
  return {
    intensity: whole(0, Number.POSITIVE_INFINITY),
    periodMs: ms(1, Number.POSITIVE_INFINITY),
    backoff: maybe(checkBackoff),
    label: text as Check<string>,
    report: flag as Check<boolean>,
    name: maybe(text),
  };
}
