// Rows of executions and messages as operations show them. Pure.

import type { MessageId } from "../definition/message-id.js";
import { fatesOf } from "../ledger/executions.js";
import type { Setback } from "../ledger/ledger.js";
import { decodeEntry, type LineageEntry, type MessageChange } from "../ledger/lineage.js";
import type { RowsOfMessage } from "../ledger/message-rows.js";
import { setbackOf } from "../ledger/setback.js";
import { strandedOf } from "../ledger/stranding.js";
import {
  type DeadLetterRow,
  type DeadRecordRow,
  type ExecutionRow,
  type ExecutionStatus,
  type LineageRow,
  type MessageRow,
  READY,
} from "../ledger/tables.js";
import type { Fate } from "../messages/dead-machine.js";
import type { DeadMessage, MessageRecord, PipelineSummary } from "./operations.js";

/** The summary of an execution, from its row. */
export function summaryOf(row: ExecutionRow): PipelineSummary {
  const { id, pipeline, status, inputs, done, dead, pending, created, ended } = row;
  const stranded = strandedOf(row);
  return {
    id,
    pipeline,
    status: status as ExecutionStatus,
    inputs,
    done,
    dead,
    pending,
    created,
    ended: ended ?? undefined,
    ...(row.version !== null && { version: row.version }),
    ...fatesOf(row),
    ...(stranded !== undefined && { stranded }),
  };
}

/** The record of a message, from all of its rows. */
export function recordOf(
  id: MessageId,
  { settled, live, dead, record, unread = false }: RowsOfMessage,
): MessageRecord {
  if (live !== undefined) return liveRecord(live);
  if (settled !== undefined) return settledRecord(settled, dead, record);
  const letter = dead ?? record;
  if (letter !== undefined) {
    const { queue, tag } = letter;
    const errors = errorsOf(letter.history);
    return {
      id,
      status: "dead",
      ...(dead === undefined && { fate: record?.fate as Fate }),
      queue,
      ...keyOf(tag),
      attempt: errors.length,
      calls: [],
      children: 0,
      errors,
    };
  }
  const status = unread ? "unknown" : "forgotten";
  return { id, status, attempt: 0, calls: [], children: 0, errors: [] };
}

function liveRecord({
  id,
  queue,
  lane,
  tag,
  attempts,
  history,
  setback,
  changes,
}: MessageRow): MessageRecord {
  return {
    id,
    status: lane === READY ? "ready" : "delayed",
    queue,
    ...keyOf(tag),
    attempt: attempts ?? 0,
    calls: [],
    children: 0,
    errors: errorsOf(history),
    ...(setback !== null && { setback: setbackOf(setback) as Setback }),
    ...(changes !== null && { changes: JSON.parse(changes) as MessageChange[] }),
  };
}

/**
 * @param letter - the row of a dead letter
 * @param record - what became of it, if it is dead no more
 */
export function settledRecord(
  { id, entry }: LineageRow,
  letter: DeadLetterRow | undefined,
  record?: DeadRecordRow,
): MessageRecord {
  const { route, status, attempt, calls, children, batch, errors, changes } = decodeEntry(id, entry);
  const fate = letter === undefined && status === "dead" ? (record?.fate as Fate | undefined) : undefined;
  const dead = letter ?? (fate === undefined ? undefined : record);
  return {
    id,
    status,
    attempt,
    calls,
    children,
    ...(route !== "" && { route }),
    ...(changes !== undefined && { changes }),
    ...(fate !== undefined && { fate }),
    ...(batch !== undefined && { batch }),
    ...(dead !== undefined && { queue: dead.queue, ...keyOf(dead.tag) }),
    errors: dead === undefined ? (errors ?? []) : errorsOf(dead.history),
  };
}

/** Whether an attempt at the message has failed. */
export function hasFailed({ status, errors }: Pick<LineageEntry, "status" | "errors">): boolean {
  return status === "dead" || (errors !== undefined && errors.length > 0);
}

/** @param value - of the message, decoded */
export function deadMessageOf(
  row: DeadLetterRow,
  settled: LineageRow | undefined,
  value: unknown,
): DeadMessage {
  const { id, queue, tag, history, at } = row;
  const entry = settled === undefined ? undefined : decodeEntry(id, settled.entry);
  const failed = entry?.calls.findLast(({ status }) => status === "failed");
  return {
    id,
    queue,
    ...(entry !== undefined && { route: entry.route }),
    ...(failed !== undefined && { adapter: failed.adapter }),
    value,
    ...keyOf(tag),
    errors: errorsOf(history),
    at,
  };
}

const keyOf = (tag: string | null): { readonly key?: string } => (tag === null ? {} : { key: tag });

function errorsOf(history: string | null): readonly string[] {
  return history === null ? [] : (JSON.parse(history) as string[]);
}
