// Rows and entries as operations show them, and the counts and delays of all flows.

import type { Store } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import type { Entry } from "../journal/entry.js";
import { type FlowRow, flows, type MailRow } from "../journal/tables.js";
import {
  FLOW_STATUSES,
  type FlowMetrics,
  type FlowStatus,
  type FlowSummary,
  type HistoryEvent,
  type PendingAsk,
  type WaitingMessage,
} from "./operations.js";

/** @param parent - the id of its parent */
export function summaryOf(row: FlowRow, parent: string | undefined): FlowSummary {
  const problem = row.hospital === null ? undefined : problemOf(row.hospital);
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    status: row.status as FlowStatus,
    createdAt: row.created,
    updatedAt: row.updated,
    ...(row.finished !== null && { finishedAt: row.finished }),
    ...(row.due !== null && row.due > 0 && { dueAt: row.due }),
    ...(parent !== undefined && { parent }),
    ...(row.queue !== null && { queue: row.queue }),
    ...(row.wish !== null && { wish: row.wish }),
    ...(problem !== undefined && { problem }),
  };
}

/** Most characters of the line about a problem. */
const PROBLEM_LENGTH = 500;

/** A medical record in one line. */
function problemOf(hospital: string): string {
  let text = hospital;
  try {
    const record = JSON.parse(hospital) as { fault?: Named; symptom?: Named } & Named;
    const { name, message } = record.fault ?? record.symptom ?? record;
    if (typeof message === "string") text = name === undefined ? message : `${name}: ${message}`;
  } catch {
    // The text itself has to do.
  }
  return text.split("\n", 1)[0]?.slice(0, PROBLEM_LENGTH) ?? "";
}

interface Named {
  readonly name?: string;
  readonly message?: string;
}

/** An entry as an event. */
export function eventOf(seq: number, { at, asks, decision }: Entry, value: unknown): HistoryEvent {
  const asked = asks.map(({ kind, key }) => ({ kind, key }));
  switch (decision.type) {
    case "done":
      return { seq, at, type: decision.ok ? "done" : "error", key: decision.key, value, asks: asked };
    case "begun":
      return {
        seq,
        at,
        type: "begun",
        key: decision.key,
        asks: asked,
        ...(decision.due !== undefined && { dueAt: decision.due }),
      };
    case "failed":
      return {
        seq,
        at,
        type: "retry",
        key: decision.key,
        value,
        asks: asked,
        attempt: decision.attempt,
        dueAt: decision.due,
      };
    case "cancelled":
      return { seq, at, type: "cancelled", asks: asked };
    default:
      return decision satisfies never;
  }
}

/** The asks that the code waits for, found entry by entry. */
export class PendingAsks {
  readonly #pending = new Map<string, PendingAsk>();

  add({ asks, decision }: Entry): void {
    for (const { kind, key, answer } of asks) if (answer === undefined) this.#pending.set(key, { kind, key });
    if (decision.type === "cancelled") {
      this.#pending.clear();
      return;
    }
    const { key } = decision;
    const ask = this.#pending.get(key);
    if (decision.type === "done" || ask === undefined) this.#pending.delete(key);
    else if (decision.type === "failed")
      this.#pending.set(key, { ...ask, dueAt: decision.due, attempts: decision.attempt });
    else if (decision.due !== undefined) this.#pending.set(key, { ...ask, dueAt: decision.due });
  }

  /** In the order of the asks. */
  get all(): PendingAsk[] {
    return [...this.#pending.values()];
  }
}

export function messageOf({ id, topic, at, sender }: MailRow): WaitingMessage {
  return { id, topic: topic.replace(/^message\//, ""), at, ...(sender !== null && { sender }) };
}

export async function readMetrics(store: Store): Promise<FlowMetrics> {
  const now = await wholeClock(store);
  const [counted, [pending], [due], [nudged]] = await Promise.all([
    Promise.all(FLOW_STATUSES.map((status) => store.count(flows, { index: "status", prefix: [status] }))),
    store.scan(flows, { index: "status", prefix: ["pending"], limit: 1 }),
    // 0 stands for "at once", and says nothing of since when.
    store.scan(flows, { index: "due", from: 1, limit: 1 }),
    store.scan(flows, { index: "due", prefix: [0], limit: 1 }),
  ]);
  const counts = Object.fromEntries(
    FLOW_STATUSES.map((status, i) => [status, counted[i] as number]),
  ) as Record<FlowStatus, number>;
  const late = [due?.due ?? now, nudged?.updated ?? now].map((since) => now - since);
  return {
    counts,
    ...(pending !== undefined && { oldestPendingMs: Math.max(0, now - pending.created) }),
    lagMs: Math.max(0, ...late),
    inHospital: counts.hospitalized,
  };
}
