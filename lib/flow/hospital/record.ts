// The record of a flow in the hospital, as data: the store keeps it as JSON with the flow.

import { SYMPTOM_KINDS, type Symptom } from "./symptom.js";

/** Where a flow stood when its error happened. */
export interface Suspension {
  /** The name of the step or wait at which the flow stood, for people. */
  readonly name: string;
  /** The length of its journal. A flow whose journal has grown has made progress. */
  readonly position: number;
}

/** One visit of a flow to the hospital. */
export interface Visit {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Where the flow was. */
  readonly suspension: Suspension;
  /** The error, without its stack. */
  readonly symptom: Symptom;
  /** The decision. */
  readonly decision: Decided;
  /**
   * Names of the staff members whose diagnosis counted; `maxFlows` alone when the hospital was full; empty when no member was competent.
   */
  readonly by: readonly string[];
  /** How many milliseconds the flow waited before it ran again, if it did. */
  readonly afterMs?: number;
}

/** A decision of the hospital about a flow. */
export type Decided = "discharge" | "observe" | "fail";

/** A patient as the store keeps it. */
export interface HospitalRecord {
  /** Of this layout. */
  readonly version: 1;
  /** The name of the definition of the flow. */
  readonly definition: string;
  /** Which code of the definition ran. Other code is a reason to try again. */
  readonly code?: string;
  /** The last error, as data. */
  readonly symptom: Symptom;
  /** Where the flow was at the last error. */
  readonly suspension: Suspension;
  /**
   * Names of the staff members whose diagnosis counted; `maxFlows` alone when the hospital was full; empty when no member was competent.
   */
  readonly by: readonly string[];
  /** When the flow runs again, in milliseconds since 1970. Absent: it is under observation. */
  readonly dueAt?: number;
  /** How often each of the staff discharged the flow at this suspension. */
  readonly counts: Readonly<Record<string, number>>;
  /** How often the flow was discharged at this suspension. */
  readonly discharges: number;
  /** The last visits, from old to new. */
  readonly visits: readonly Visit[];
}

/**
 * Reads a record that the store kept. Undefined if it cannot be read: a damaged record must not keep a flow, or a host, from
 * anything. Visits and counts that cannot be read are left out.
 */
export function parseRecord(stored: unknown): HospitalRecord | undefined {
  const given = typeof stored === "string" ? parsed(stored) : stored;
  if (!isObject(given) || given.version !== 1) return undefined;
  const { definition, code, symptom, suspension, by, dueAt, counts, discharges, visits } = given;
  if (typeof definition !== "string" || !isSymptom(symptom) || !isSuspension(suspension)) return undefined;
  return {
    version: 1,
    definition,
    ...(typeof code === "string" ? { code } : {}),
    symptom,
    suspension,
    by: isTexts(by) ? by : [],
    ...(typeof dueAt === "number" ? { dueAt } : {}),
    counts: isObject(counts)
      ? Object.fromEntries(Object.entries(counts).filter((one): one is [string, number] => isCount(one[1])))
      : {},
    discharges: isCount(discharges) ? discharges : 0,
    visits: Array.isArray(visits) ? visits.filter(isVisit) : [],
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isSymptom(value: unknown): value is Symptom {
  return (
    isObject(value) &&
    SYMPTOM_KINDS.some((kind) => kind === value.kind) &&
    typeof value.name === "string" &&
    typeof value.message === "string"
  );
}

function isSuspension(value: unknown): value is Suspension {
  return isObject(value) && typeof value.name === "string" && isCount(value.position);
}

function isVisit(value: unknown): value is Visit {
  return (
    isObject(value) &&
    typeof value.at === "number" &&
    isSuspension(value.suspension) &&
    isSymptom(value.symptom) &&
    ["discharge", "observe", "fail"].includes(value.decision as string) &&
    isTexts(value.by)
  );
}
