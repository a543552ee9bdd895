// The flows in the hospital as the store has them: to list them, and to let them go. Works beside any number of hosts, and without
// one: each change expects that the flow is still as it was read.

import type { Store, WriteSet } from "../../store/index.js";
import { rowGets, rowIs } from "../journal/changes.js";
import { flowsIn } from "../journal/rows.js";
import { type FlowRow, flows, READY_TOPIC } from "../journal/tables.js";
import {
  decide,
  type HospitalConfig,
  type HospitalEffect,
  type HospitalEvent,
  initial,
  matches,
  type PatientFilter,
} from "./hospital-machine.js";
import { type HospitalRecord, parseRecord } from "./record.js";
import type { Symptom } from "./symptom.js";

/** A flow in the hospital. */
export interface PatientInfo {
  /** The id of the flow. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  /** Since when it is there, in milliseconds since 1970. */
  readonly since: number;
  /** When it runs again by itself, in milliseconds since 1970. Absent: when it is discharged. */
  readonly dueAt?: number;
  /** Its error, where it happened, who decided, and its visits. Absent: its record cannot be read. */
  readonly record?: HospitalRecord;
}

/** Why a wait for the end of a flow is in vain: the code took another way than the one recorded, and a person has to act. */
export function standsStill(row: FlowRow): Symptom | undefined {
  const record = isIn(row) ? parseRecord(row.hospital ?? undefined) : undefined;
  return record?.dueAt === undefined && record?.symptom.kind === "divergence" ? record.symptom : undefined;
}

const PAGE = 500;

/** The rows of flows in the hospital that a filter means, in the order of their starts. */
export async function* patientRows(store: Store, filter: PatientFilter): AsyncGenerator<FlowRow> {
  const rows =
    filter.flow === undefined
      ? flowsIn(store, { index: "status", prefix: ["hospitalized"] }, PAGE)
      : (await store.scan(flows, { index: "id", prefix: [filter.flow], limit: 1 })).filter(isIn);
  for await (const row of rows) if (isMeant(row, filter)) yield row;
}

function isIn({ status }: FlowRow): boolean {
  return status === "hospitalized";
}

/** A flow whose record cannot be read is found by its id and its definition alone. */
function isMeant(row: FlowRow, filter: PatientFilter): boolean {
  if (filter.definition !== undefined && filter.definition !== row.name) return false;
  const record = parseRecord(row.hospital ?? undefined);
  return record === undefined
    ? filter.code === undefined && filter.kind === undefined
    : matches(record, filter);
}

export function patientOf(row: FlowRow): PatientInfo {
  const { id, name, version, updated } = row;
  const record = parseRecord(row.hospital ?? undefined);
  return {
    id,
    name,
    version,
    since: updated,
    ...(record?.dueAt === undefined ? {} : { dueAt: record.dueAt }),
    ...(record === undefined ? {} : { record }),
  };
}

/** The effects that the machine decides for a flow in the hospital, when `next` happens. */
export function decideFor(
  config: HospitalConfig,
  row: FlowRow,
  now: number,
  next?: HospitalEvent,
  code?: string,
): readonly HospitalEffect[] {
  const record = parseRecord(row.hospital ?? undefined);
  if (record === undefined) return [];
  const found: HospitalEvent = {
    type: "restored",
    flow: row.id,
    isIn: true,
    record,
    ...(code === undefined ? {} : { code }),
    now,
  };
  const [state, effects] = decide(initial(config), found);
  return next === undefined ? effects : [...effects, ...decide(state, next)[1]];
}

/** The record with which a flow leaves the hospital. Undefined: with none, as its record cannot be read. */
function leaving(config: HospitalConfig, row: FlowRow, now: number): HospitalRecord | undefined {
  const effects = decideFor(config, row, now, { type: "discharged", filter: {} });
  const [found] = effects.filter((one) => one.type === "discharge");
  return found?.record;
}

/** The writes that discharge a flow: any host can take it at once. */
export function dischargeSet(config: HospitalConfig, row: FlowRow, now: number): WriteSet {
  const record = leaving(config, row, now);
  return {
    expect: [rowIs(row, { status: "hospitalized", hospital: row.hospital, holder: row.holder })],
    writes: [
      rowGets(row, {
        status: "pending",
        due: 0,
        crashes: 0,
        hospital: record === undefined ? null : JSON.stringify(record),
        updated: now,
      }),
    ],
    notify: [READY_TOPIC + row.number],
  };
}
