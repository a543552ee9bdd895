// The options of a hospital, and their checks.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay, oneOf, text } from "../../process/options.js";
import { HOSPITAL_DEFAULTS, type HospitalBackoff } from "./defaults.js";
import type { HospitalConfig } from "./hospital-machine.js";
import { DEFAULT_STAFF, type StaffMember } from "./staff.js";

/**
 * How a flow host treats flows that fail. Defaults stand in HOSPITAL_DEFAULTS.
 *
 * @example
 * const options: HospitalOptions = {
 *   staff: [{ name: "bank", diagnose: (symptom) => (symptom.name === "BankClosed" ? { type: "discharge", afterMs: 3_600_000 } : "not-my-specialty") }],
 *   onError: "hospital",
 * };
 */
export interface HospitalOptions {
  /** Staff of your own. It is asked before the default staff, but priority decides. */
  readonly staff?: readonly StaffMember[];
  /** When a flow that was discharged before runs again. Default: at once, then after 10 s to 120 s. */
  readonly backoff?: Partial<HospitalBackoff>;
  /** After so many discharges without progress, 1 or more, a flow is observed even if the staff would discharge it. Default 1,000. */
  readonly maxDischarges?: number;
  /** How many flows the hospital remembers, 1 or more. Default 10,000. */
  readonly maxFlows?: number;
  /** How many visits of one flow are remembered, 1 or more. Default 10. */
  readonly maxVisits?: number;
  /**
   * How often the program may die with evidence against a flow that makes no progress, 1 or more, before the flow is kept for a while:
   * a minute first, and then twice as long each time, up to an hour. Kills from outside do not count. Default 3.
   */
  readonly maxCrashes?: number;
  /**
   * The outcome for a flow whose error no member of the staff treats: it fails, or it is observed. A definition may say otherwise for
   * its flows. Default "fail".
   */
  readonly onError?: "fail" | "hospital";
  /** Whether observed flows stay or run again when a host starts. Default "keep". */
  readonly atStart?: "keep" | "discharge";
}

/** Options with their defaults. */
export interface HospitalSettings {
  readonly config: HospitalConfig;
  readonly maxCrashes: number;
  readonly onError: "fail" | "hospital";
}

const BACKOFF = ["firstMs", "minMs", "maxMs", "factor"] as const;
const LIMITS = ["maxDischarges", "maxFlows", "maxVisits", "maxCrashes"] as const;
const KNOWN = ["staff", "backoff", ...LIMITS, "onError", "atStart"];

/**
 * Checks the options of a hospital.
 *
 * @param path - of the options, such as `hospital`
 * @throws OptionError
 */
export function checkHospital(path: string, given: HospitalOptions = {}): HospitalSettings {
  only(path, given, KNOWN);
  const limit = (name: (typeof LIMITS)[number], least: number): number =>
    count(`${path}.${name}`, given[name] ?? HOSPITAL_DEFAULTS[name], least);
  return {
    config: {
      staff: checkStaff(`${path}.staff`, given.staff ?? []),
      backoff: checkBackoff(`${path}.backoff`, given.backoff ?? {}),
      maxDischarges: limit("maxDischarges", 1),
      maxFlows: limit("maxFlows", 1),
      maxVisits: limit("maxVisits", 1),
      atStart: oneOf(`${path}.atStart`, given.atStart ?? "keep", ["keep", "discharge"]),
    },
    maxCrashes: limit("maxCrashes", 1),
    onError: checkOnError(`${path}.onError`, given.onError ?? "fail"),
  };
}

/** Checks an option `onError`. @throws OptionError */
export function checkOnError(path: string, given: unknown): "fail" | "hospital" {
  return oneOf(path, given, ["fail", "hospital"]);
}

function checkBackoff(path: string, given: Partial<HospitalBackoff>): HospitalBackoff {
  only(path, given, BACKOFF);
  const defaults = HOSPITAL_DEFAULTS.backoff;
  const { firstMs, minMs, maxMs, factor } = given;
  const backoff: HospitalBackoff = {
    firstMs: firstMs ?? defaults.firstMs,
    minMs: minMs ?? defaults.minMs,
    maxMs: maxMs ?? defaults.maxMs,
    factor: factor ?? defaults.factor,
  };
  delay(`${path}.firstMs`, backoff.firstMs);
  delay(`${path}.minMs`, backoff.minMs);
  delay(`${path}.maxMs`, backoff.maxMs, backoff.minMs);
  if (!(backoff.factor >= 1 && Number.isFinite(backoff.factor)))
    throw new OptionError(`${path}.factor`, backoff.factor, "a number, 1 or more");
  return backoff;
}

function checkStaff(path: string, given: readonly StaffMember[]): readonly StaffMember[] {
  if (!Array.isArray(given)) throw new OptionError(path, given, "an array of { name, diagnose }");
  const names = new Set(DEFAULT_STAFF.map(({ name }) => name));
  for (const [i, member] of given.entries()) {
    if (typeof member === "object" && member !== null) only(`${path}[${i}]`, member, ["name", "diagnose"]);
    if (typeof member?.diagnose !== "function")
      throw new OptionError(`${path}[${i}]`, member, "{ name, diagnose } with a function diagnose");
    const name = text(`${path}[${i}].name`, member.name);
    if (names.has(name))
      throw new OptionError(`${path}[${i}].name`, name, `another name than ${[...names].join(", ")}`);
    names.add(name);
  }
  return [...given, ...DEFAULT_STAFF];
}
