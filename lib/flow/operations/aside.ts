// Why a flow stands aside: its medical record as people read it, with the ends of programs that are evidence against it. Pure.

import { parseRecord, type Visit } from "../hospital/record.js";
import type { Symptom, SymptomKind } from "../hospital/symptom.js";
import type { FlowRow } from "../journal/tables.js";

/** An end of a program that is evidence against a flow: its code ran. */
export interface FlowDeath {
  /** How that is known: `exit`, `uncaught`, `spin`, `standing` or `search`. */
  readonly kind: string;
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** The number of the life of the host that ended so. */
  readonly life: number;
}

/** One visit to the hospital. */
export interface FlowVisit {
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** The step or wait at which the flow was. */
  readonly where: string;
  /** The kind of the error. */
  readonly kind: SymptomKind;
  /** The error in one line. */
  readonly error: string;
  /** What was decided: `discharge`, `observe` or `fail`. */
  readonly decision: string;
  /** The members of the staff who decided. Empty: none was competent. */
  readonly by: readonly string[];
  /** How many milliseconds it waited before it ran again. */
  readonly afterMs?: number;
  /** The end of a program for which it came. */
  readonly death?: FlowDeath;
}

/** Why a flow stands aside, or did. */
export interface FlowAside {
  /** Whether it is in the hospital now. */
  readonly isIn: boolean;
  /** When it runs again by itself, in milliseconds since 1970. Absent: when a person discharges it, or its code is another one. */
  readonly until?: number;
  /** The last visits, the last one first: as many as its record keeps. */
  readonly visits: readonly FlowVisit[];
  /** How often it was discharged at the step or wait at which it is. */
  readonly discharges: number;
  /** Its last error, as its record keeps it. */
  readonly symptom?: Symptom;
  /** How often its code ended the program, without progress since. */
  readonly crashes: number;
}

/** Undefined: nothing was ever wrong with it. */
export function asideOf(row: Pick<FlowRow, "status" | "hospital" | "crashes">): FlowAside | undefined {
  const isIn = row.status === "hospitalized";
  const { crashes, hospital } = row;
  if (!isIn && hospital === null && crashes === 0) return undefined;
  const record = parseRecord(hospital ?? undefined);
  if (record === undefined) return { isIn, visits: [], discharges: 0, crashes };
  const { dueAt, discharges, symptom } = record;
  const visits = [...record.visits].reverse().map(visitOf);
  return { isIn, ...(isIn && dueAt !== undefined && { until: dueAt }), visits, discharges, symptom, crashes };
}

function visitOf({ at, suspension, symptom, decision, by, afterMs }: Visit): FlowVisit {
  const { evidence } = symptom;
  return {
    at,
    where: suspension.name,
    kind: symptom.kind,
    error: lineOf(symptom),
    decision,
    by,
    ...(afterMs !== undefined && { afterMs }),
    ...(evidence !== undefined && { death: evidence }),
  };
}

function lineOf({ name, message }: Symptom): string {
  return `${name}: ${message}`.split("\n", 1)[0] as string;
}
