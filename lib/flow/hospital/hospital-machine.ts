// The flow hospital as a pure machine. It decides about a flow whose code, process or checkpoint fails. The model is Corda's
// StaffedFlowHospital: a staff that diagnoses, medical records. Here a flow also leaves the hospital while the host runs.
//
//     waiting    discharged, but not before its time
//     observed   kept until a person acts, or the code changes
//     failing    on its way to its end: the host makes the failure durable
//     out        runs again; remembered, because it may come back without progress
//
// A flow runs under a number that grows with each run, and only the failure of a later run than the last one known counts. So an
// admission that is reported twice changes nothing, and a flow fails at most once.
//
// The tables and the count of runs are updated in place: a state that was given to `decide` must not be used again.

import type { EvidenceMark } from "../../host/index.js";
import { type HospitalLimits, visitWaitMs } from "./defaults.js";
import type { Decided, HospitalRecord, Suspension, Visit } from "./record.js";
import { type Consultation, consult, type StaffMember } from "./staff.js";
import type { Symptom } from "./symptom.js";

export interface HospitalConfig extends Omit<HospitalLimits, "maxCrashes"> {
  /** In the order in which they are asked. */
  readonly staff: readonly StaffMember[];
  /** Whether observed flows stay or run again when a host starts. */
  readonly atStart: "keep" | "discharge";
}

export type PatientStatus = "waiting" | "observed" | "failing" | "out";

export interface Patient {
  readonly flow: string;
  readonly status: PatientStatus;
  /** The last run that failed; 0 for one that this host has not seen run. */
  readonly run: number;
  readonly record: HospitalRecord;
}

export interface HospitalState {
  readonly config: HospitalConfig;
  /** By flow. Mutable. */
  readonly patients: Map<string, Patient>;
  /** How many runs of flows have begun. Mutable. */
  runs: number;
  /** The flows of each status, those that came first before others. Mutable. */
  readonly byStatus: { readonly [status in PatientStatus]: Set<string> };
}

/** Selects the patients that have all of these. */
export interface PatientFilter {
  /** The id of a flow. */
  readonly flow?: string;
  /** The name of a definition. */
  readonly definition?: string;
  /** The `code` of the error. */
  readonly code?: string;
  /** The kind of its last symptom. */
  readonly kind?: Symptom["kind"];
}

export type HospitalEvent =
  /** Run number `run` of a flow failed, or a checkpoint cannot run at all. */
  | {
      readonly type: "admitted";
      readonly flow: string;
      readonly definition: string;
      /** Which code of the definition ran. */
      readonly code?: string;
      readonly run: number;
      readonly symptom: Symptom;
      readonly suspension: Suspension;
      /** The outcome for a flow that no member of the staff can treat. */
      readonly onError: "fail" | "hospital";
      /** Milliseconds since 1970. */
      readonly now: number;
      /** In [0, 1). */
      readonly random: number;
    }
  /** A person discharges patients. */
  | { readonly type: "discharged"; readonly filter: PatientFilter }
  /** A person puts a flow that runs, or waits, under observation. */
  | {
      readonly type: "observed";
      readonly flow: string;
      readonly definition: string;
      readonly code?: string;
      readonly run: number;
      readonly reason: string;
      readonly suspension: Suspension;
      readonly now: number;
    }
  /** Flows are not the hospital's any more: killed, removed, paused, ended, retried elsewhere, or taken over by another host. */
  | { readonly type: "left"; readonly flow: string }
  /** The time of a flow has come. */
  | { readonly type: "due"; readonly flow: string; readonly now: number }
  /**
   * A host has found a flow with a record in its store: in the hospital, or discharged before. `code`: which code of its definition
   * is registered, if any.
   */
  | {
      readonly type: "restored";
      readonly flow: string;
      readonly isIn: boolean;
      readonly record: HospitalRecord;
      readonly code?: string;
      readonly now: number;
    };

/** The cause of a discharge. */
export type DischargedBy = "staff" | "timer" | "hand" | "code" | "start" | "recovery";

export type HospitalEffect =
  /** Run the flow again from its last checkpoint. */
  | {
      readonly type: "discharge";
      readonly flow: string;
      readonly by: DischargedBy;
      readonly record: HospitalRecord;
    }
  /** Store the record with the flow, and send `due` at `dueAt`. Replaces an earlier wait of the flow. */
  | { readonly type: "wait"; readonly flow: string; readonly dueAt: number; readonly record: HospitalRecord }
  /** Store the flow as hospitalized, with its record. */
  | { readonly type: "observe"; readonly flow: string; readonly record: HospitalRecord }
  /** The flow fails: its waiters get its error. Send `left` when that is durable. */
  | { readonly type: "fail"; readonly flow: string; readonly record: HospitalRecord }
  /** Report a member of the staff that threw, or gave no diagnosis. */
  | {
      readonly type: "staff-failed";
      readonly flow: string;
      readonly staff: string;
      readonly message: string;
    };

/** Most characters of the message of a visit. */
const SHORT = 200;

type Past = Pick<HospitalRecord, "counts" | "discharges" | "visits">;
type Decision = readonly [HospitalState, readonly HospitalEffect[]];
export type Admitted = Extract<HospitalEvent, { type: "admitted" }>;

export function initial(config: HospitalConfig): HospitalState {
  return {
    config,
    patients: new Map(),
    runs: 0,
    byStatus: { waiting: new Set(), observed: new Set(), failing: new Set(), out: new Set() },
  };
}

/** The number of a run that begins. */
export function begin(state: HospitalState): number {
  return ++state.runs;
}

export function decide(state: HospitalState, event: HospitalEvent): Decision {
  switch (event.type) {
    case "admitted":
      return [state, admit(state, event)];
    case "discharged":
      return [state, dischargeAll(state, event.filter)];
    case "observed":
      return [state, observeByHand(state, event)];
    case "left":
      remove(state, event.flow);
      return [state, []];
    case "due":
      return [state, due(state, event.flow, event.now)];
    case "restored":
      return [state, restore(state, event)];
    default:
      return event satisfies never;
  }
}

/** Whether a failure ends the flow: what `admitted` would decide, without a change. */
export function isFinal(state: HospitalState, event: Admitted): boolean {
  const past = pastOf(state.patients.get(event.flow), event.suspension);
  return verdict(state.config, event, found(state, event, past), past.discharges, true)[0] === "fail";
}

/** How many ends of a program count against a flow: a search that names the flow leaves no doubt, so it counts as the most. */
export function countCrashes(before: number, { kind, ends }: EvidenceMark, maxCrashes: number): number {
  return before + (kind === "search" ? maxCrashes : (ends ?? 1));
}

function admit(state: HospitalState, event: Admitted): readonly HospitalEffect[] {
  const { config } = state;
  const { flow, symptom, suspension } = event;
  const known = state.patients.get(flow);
  if (known !== undefined && (known.status === "failing" || event.run <= known.run)) return [];
  const past = pastOf(known, suspension);
  const consultation = found(state, event, past);
  const failed = consultation.failed.map((one) => ({ type: "staff-failed", flow, ...one }) as const);
  const hasBed = known !== undefined || makeRoom(state);
  const [decided, by, afterMs] = verdict(config, event, consultation, past.discharges, hasBed);
  const visit: Visit = {
    at: event.now,
    suspension,
    symptom: inShort(symptom),
    decision: decided,
    by,
    ...(decided === "discharge" ? { afterMs } : {}),
  };
  const isDischarged = decided === "discharge";
  const record: HospitalRecord = {
    version: 1,
    definition: event.definition,
    ...(event.code === undefined ? {} : { code: event.code }),
    symptom,
    suspension,
    by,
    ...(isDischarged && afterMs > 0 ? { dueAt: event.now + afterMs } : {}),
    counts: isDischarged ? counted(past.counts, by) : past.counts,
    discharges: past.discharges + (isDischarged ? 1 : 0),
    visits: [...past.visits, visit].slice(-config.maxVisits),
  };
  const [status, effect] = outcome(flow, decided, record);
  if (hasBed) move(state, { flow, status, run: event.run, record });
  return [...failed, effect];
}

function found({ config }: HospitalState, event: Admitted, past: Past): Consultation {
  const { flow, definition, suspension, symptom } = event;
  const { discharges, visits, counts } = past;
  return consult(config.staff, symptom, { flow, definition, suspension, discharges, visits }, counts);
}

/**
 * The past of a flow at this suspension, from its last record. A journal that has grown since makes counts start anew, and so does one
 * that was cut to retry the flow from a step.
 */
function pastOf(known: Patient | undefined, { position }: Suspension): Past {
  if (known === undefined) return { counts: {}, discharges: 0, visits: [] };
  const { counts, discharges, visits, suspension } = known.record;
  return position === suspension.position
    ? { counts, discharges, visits }
    : { counts: {}, discharges: 0, visits };
}

/** The decision about the flow, the names of those that made it, and the wait before its next run. */
function verdict(
  config: HospitalConfig,
  { onError, random }: Admitted,
  { diagnosis, by, afterMs }: Consultation,
  discharges: number,
  hasBed: boolean,
): readonly [Decided, readonly string[], number] {
  switch (diagnosis) {
    case "terminal":
      return ["fail", by, 0];
    case "observe":
      return ["observe", by, 0];
    case "not-my-specialty":
      return onError === "fail" ? ["fail", ["onError"], 0] : ["observe", ["onError"], 0];
    case "resuscitate":
    case "discharge": {
      if (discharges >= config.maxDischarges) return ["observe", ["maxDischarges"], 0];
      // Without a record its discharges would not be counted, and it might come back for ever.
      if (!hasBed) return ["observe", ["maxFlows"], 0];
      if (diagnosis === "resuscitate") return ["discharge", by, 0];
      // The store keeps whole milliseconds.
      return ["discharge", by, Math.ceil(afterMs ?? visitWaitMs(config.backoff, discharges, random))];
    }
    default:
      return diagnosis satisfies never;
  }
}

function outcome(
  flow: string,
  decided: Decided,
  record: HospitalRecord,
): readonly [PatientStatus, HospitalEffect] {
  switch (decided) {
    case "fail":
      return ["failing", { type: "fail", flow, record }];
    case "observe":
      return ["observed", { type: "observe", flow, record }];
    case "discharge":
      return record.dueAt === undefined
        ? ["out", { type: "discharge", flow, by: "staff", record }]
        : ["waiting", { type: "wait", flow, dueAt: record.dueAt, record }];
    default:
      return decided satisfies never;
  }
}

function counted(counts: HospitalRecord["counts"], by: readonly string[]): HospitalRecord["counts"] {
  return { ...counts, ...Object.fromEntries(by.map((name) => [name, (counts[name] ?? 0) + 1])) };
}

/** The part of a visit's symptom that is kept: a short one, because there are many visits. */
function inShort({ stack: _, ...symptom }: Symptom): Symptom {
  return { ...symptom, message: symptom.message.slice(0, SHORT) };
}

/** Puts a patient among those of its status, and out of any other. */
function move(state: HospitalState, patient: Patient): void {
  remove(state, patient.flow);
  state.patients.set(patient.flow, patient);
  state.byStatus[patient.status].add(patient.flow);
}

function remove(state: HospitalState, flow: string): void {
  const known = state.patients.get(flow);
  if (known === undefined) return;
  state.patients.delete(flow);
  state.byStatus[known.status].delete(flow);
}

/** Whether one more flow can be remembered. To make room, the first flow that runs, or else the first observed one, is forgotten. */
function makeRoom(state: HospitalState): boolean {
  if (state.patients.size < state.config.maxFlows) return true;
  const [forgotten] = state.byStatus.out.size > 0 ? state.byStatus.out : state.byStatus.observed;
  if (forgotten === undefined) return false;
  remove(state, forgotten);
  return true;
}

/** Counts start anew; the visits are kept. */
function fresh(record: HospitalRecord): HospitalRecord {
  const { dueAt: _, ...rest } = record;
  return { ...rest, counts: {}, discharges: 0 };
}

/** Lets a patient run again. Its counts start anew, as if it had not failed here before, unless its timer discharges it. */
function release(state: HospitalState, patient: Patient, by: DischargedBy): HospitalEffect {
  const { flow } = patient;
  const { dueAt: _, ...rest } = patient.record;
  const record = by === "timer" ? rest : fresh(patient.record);
  if (state.patients.has(flow)) move(state, { ...patient, status: "out", record });
  return { type: "discharge", flow, by, record };
}

function dischargeAll(state: HospitalState, filter: PatientFilter): readonly HospitalEffect[] {
  const flows =
    filter.flow === undefined ? [...state.byStatus.waiting, ...state.byStatus.observed] : [filter.flow];
  return flows.flatMap((flow) => {
    const patient = state.patients.get(flow);
    const isIn = patient?.status === "waiting" || patient?.status === "observed";
    return isIn && matches(patient.record, filter) ? release(state, patient, "hand") : [];
  });
}

/** Whether a filter means the flow with this record, its id apart. */
export function matches({ definition, symptom }: HospitalRecord, filter: PatientFilter): boolean {
  return (
    (filter.definition === undefined || filter.definition === definition) &&
    (filter.code === undefined || filter.code === symptom.code) &&
    (filter.kind === undefined || filter.kind === symptom.kind)
  );
}

function observeByHand(
  state: HospitalState,
  { flow, definition, code, run, reason, suspension, now }: Extract<HospitalEvent, { type: "observed" }>,
): readonly HospitalEffect[] {
  const known = state.patients.get(flow);
  if (known?.status === "failing" || known?.status === "observed") return [];
  const past = pastOf(known, suspension);
  const symptom: Symptom = { kind: "requested", name: "HospitalizeError", message: reason };
  const by = ["hand"];
  const visit: Visit = { at: now, suspension, symptom: inShort(symptom), decision: "observe", by };
  const record: HospitalRecord = {
    ...past,
    version: 1,
    definition,
    ...(code === undefined ? {} : { code }),
    symptom,
    suspension,
    by,
    visits: [...past.visits, visit].slice(-state.config.maxVisits),
  };
  if (known !== undefined || makeRoom(state))
    move(state, { flow, status: "observed", run: Math.max(run, known?.run ?? 0), record });
  return [{ type: "observe", flow, record }];
}

/** Faults that other code may have mended. */
function isOfCode({ kind }: Symptom): boolean {
  return kind === "divergence" || kind === "definition";
}

function due(state: HospitalState, flow: string, now: number): readonly HospitalEffect[] {
  const patient = state.patients.get(flow);
  if (patient?.status !== "waiting") return [];
  const { record } = patient;
  const dueAt = record.dueAt ?? now;
  // A timer may fire early, and a clock may be set back.
  return [now < dueAt ? { type: "wait", flow, dueAt, record } : release(state, patient, "timer")];
}

function restore(
  state: HospitalState,
  { flow, isIn, record, code, now }: Extract<HospitalEvent, { type: "restored" }>,
): readonly HospitalEffect[] {
  if (state.patients.has(flow)) return [];
  const hasBed = makeRoom(state);
  if (!isIn) {
    const { dueAt: _, ...past } = record;
    if (hasBed) move(state, { flow, status: "out", run: 0, record: past });
    return [];
  }
  const { dueAt } = record;
  const patient: Patient = { flow, status: dueAt === undefined ? "observed" : "waiting", run: 0, record };
  if (hasBed) move(state, patient);
  if (dueAt !== undefined) {
    if (!hasBed) return [{ type: "observe", flow, record: { ...record, by: ["maxFlows"] } }];
    return [now < dueAt ? { type: "wait", flow, dueAt, record } : release(state, patient, "timer")];
  }
  const isMended = isOfCode(record.symptom) && code !== undefined && code !== record.code;
  if (!isMended && state.config.atStart === "keep") return [];
  return [release(state, patient, isMended ? "code" : "start")];
}
