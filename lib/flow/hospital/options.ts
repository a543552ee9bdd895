// The options of a hospital, and their checks.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { among, type Check, checked, ms, whole } from "../../process/option-schema.js";
import { delay, text } from "../../process/options.js";
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

/** An option `onError`. */
export const checkOnError: Check<"fail" | "hospital"> = among("fail", "hospital");

const BACKOFF = {
  firstMs: ms(0),
  minMs: ms(0),
  maxMs: ms(0),
  factor: (path: string, given: unknown): number => {
    if (typeof given === "number" && given >= 1 && Number.isFinite(given)) return given;
    throw new OptionError(path, given, "a number, 1 or more");
  },
};
const CHECKS = {
  staff: checkStaff,
  backoff: checkBackoff,
  maxDischarges: whole(1),
  maxFlows: whole(1),
  maxVisits: whole(1),
  maxCrashes: whole(1),
  onError: checkOnError,
  atStart: among("keep", "discharge"),
};

/**
 * Checks the options of a hospital.
 *
 * @param path - of the options, such as `hospital`
 * @throws OptionError
 */
export function checkHospital(path: string, given: HospitalOptions = {}): HospitalSettings {
  const usual = { staff: [], onError: "fail", atStart: "keep" } as const;
  const { maxCrashes, onError, ...config } = checked(path, given, CHECKS, { ...HOSPITAL_DEFAULTS, ...usual });
  return { config, maxCrashes, onError };
}

function checkBackoff(path: string, given: unknown): HospitalBackoff {
  const backoff = checked(path, given as object, BACKOFF, HOSPITAL_DEFAULTS.backoff);
  delay(`${path}.maxMs`, backoff.maxMs, backoff.minMs);
  return backoff;
}

function checkStaff(path: string, given: unknown): readonly StaffMember[] {
  if (!Array.isArray(given)) throw new OptionError(path, given, "an array of { name, diagnose }");
  const names = new Set(DEFAULT_STAFF.map(({ name }) => name));
  for (const [i, member] of (given as readonly StaffMember[]).entries()) {
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
