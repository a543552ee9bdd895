// The tables of flows. One row a flow, an append-only journal, and mail.

import { defineTable, type Row, type Schema, type Table } from "../../store/index.js";
import { blobs } from "./blobs.js";

/**
 * What a flow is doing, as its row says. `pending` waits for its turn. The code or a step of a `running` flow runs; a `waiting` flow
 * only waits: for messages, for a time, for children. A host holds a flow that waits for a few seconds, and gives it back to the store
 * after that. `paused` and `hospitalized` wait for people. The others have ended.
 */
export type FlowStatus = ActiveStatus | EndedStatus;
export type ActiveStatus = "pending" | "running" | "waiting" | "paused" | "hospitalized";
export type EndedStatus = "completed" | "failed" | "cancelled" | "killed";

const FLOW_COLUMNS = {
  /** The flow's number: short, and in the order of the starts. */
  number: "integer",
  /** The user's id. */
  id: "text",
  name: "text",
  version: "integer",
  status: "text",
  input: "payload?",
  /** The result or the error of a flow that has ended. */
  outcome: "payload?",
  /** The seed of its random numbers and ids. */
  seed: "text",
  /** Counts `continueAsNew`. */
  generation: "integer",
  /** The token of the host that holds it. Null: none does. */
  holder: "integer?",
  /** How often it was taken by a host, or started by one. Null: its row is of the first version of the schema. See `taken`. */
  epoch: "integer?",
  /** When a host looks at it next, by the store's clock. 0: at once. Null: at no time. */
  due: "integer?",
  /** How many messages it was ever sent. */
  mail: "integer",
  /** How often its code ended the program, by evidence, without a new entry in its journal since. */
  crashes: "integer",
  /** The length of its journal when a host last took it. */
  taken_at: "integer",
  /** The number of its parent. */
  parent: "integer?",
  /** The key of the parent's ask. */
  parent_key: "text?",
  /** `leave`: it goes on when its parent is cancelled or killed. Null: it is cancelled then. */
  on_cancel: "text?",
  /** A request that the flow has not carried out: `pause`, `cancel`, `kill`, `fork`, or `observe` with a reason. */
  wish: "text?",
  /** The queue in which it waits for its turns, the key that it counts for (empty: none), and its place: 0 goes first. */
  queue: "text?",
  queue_key: "text",
  rank: "integer",
  /** The name of the queue, while it waits for a slot. */
  waiting: "text?",
  /** The name of the queue, while it holds a slot. */
  slot: "text?",
  /** Later starts with this text replace its input, as long as it has not started. */
  debounce: "text?",
  /** Why it is in the hospital, as JSON. */
  hospital: "text?",
  progress: "payload?",
  /** The last heartbeats of steps that run. */
  heartbeats: "payload?",
  /** The trace context of its start. */
  trace: "text?",
  /** The call that started it under an id of the caller: its repeat is no second start. */
  request: "text?",
  created: "integer",
  updated: "integer",
  finished: "integer?",
} as const;

/** One row a flow. A step changes nothing here: only starts, waits that last, parkings and ends do. */
export const flows: Table<typeof FLOW_COLUMNS> = defineTable("flows", {
  columns: FLOW_COLUMNS,
  key: ["number"],
  counted: "number",
  indexes: {
    id: ["id"],
    due: ["due", "number"],
    holder: ["holder", "number"],
    status: ["status", "number"],
    name: ["name", "status", "number"],
    queue: ["queue", "status", "number"],
    waiting: ["waiting", "rank", "queue_key", "number"],
    slot: ["slot", "queue_key"],
    debounce: ["debounce"],
    finished: ["finished", "number"],
    parent: ["parent", "number"],
  },
  unique: ["id", "debounce"],
});

const JOURNAL_COLUMNS = {
  position: "integer",
  flow: "integer",
  /** 0 for the first entry of a flow. */
  seq: "integer",
  /** The decision and its asks: see entry.ts. */
  head: "text",
  /** The value, if it has one. */
  value: "payload?",
} as const;

/** The journal: appended to, never changed. */
export const journal: Table<typeof JOURNAL_COLUMNS> = defineTable("flow_journal", {
  columns: JOURNAL_COLUMNS,
  key: ["position"],
  counted: "position",
  indexes: { flow: ["flow", "seq"] },
});

const MAIL_COLUMNS = {
  position: "integer",
  flow: "integer",
  /** Given by the sender: a second message with this id to this flow is dropped. */
  id: "text",
  topic: "text",
  value: "payload?",
  sender: "text?",
  /** The flow's number until the flow has received it, then null. */
  unread: "integer?",
  at: "integer",
} as const;

/** Messages to flows. */
export const mail: Table<typeof MAIL_COLUMNS> = defineTable("flow_mail", {
  columns: MAIL_COLUMNS,
  key: ["position"],
  counted: "position",
  indexes: { unread: ["unread", "position"], id: ["flow", "id"] },
  unique: ["id"],
});

const EVENT_COLUMNS = {
  position: "integer",
  flow: "integer",
  topic: "text",
  value: "payload?",
  at: "integer",
} as const;

/** Events that flows published. */
export const events: Table<typeof EVENT_COLUMNS> = defineTable("flow_events", {
  columns: EVENT_COLUMNS,
  key: ["position"],
  counted: "position",
  indexes: { flow: ["flow", "position"] },
});

const REMAINS_COLUMNS = { flow: "integer", at: "integer" } as const;

/** Numbers of flows whose rows are removed, and of which journal, mail or events may be left. */
export const remains: Table<typeof REMAINS_COLUMNS> = defineTable("flow_remains", {
  columns: REMAINS_COLUMNS,
  key: ["flow"],
});

export type FlowRow = Row<typeof flows>;
export type MailRow = Row<typeof mail>;
export type EventRow = Row<typeof events>;

const ENDED: readonly string[] = ["completed", "failed", "cancelled", "killed"] satisfies EndedStatus[];

/** Whether a flow has ended. */
export function isEnded({ status }: Pick<FlowRow, "status">): boolean {
  return ENDED.includes(status);
}

/** Whether a host holds a flow, and runs it. */
export function isHeld({ status, holder }: Pick<FlowRow, "status" | "holder">): boolean {
  return holder !== null && (status === "running" || status === "waiting");
}

/**
 * The part of a row that must be unchanged, for a change that depends on the holder of the flow and on its status. A holder may write
 * meanwhile whether the flow runs or waits.
 */
export function asFound({
  status,
  holder,
}: Pick<FlowRow, "status" | "holder">): Record<string, string | number | null> {
  return holder === null ? { status, holder } : { holder };
}

/**
 * The epoch of a flow that a host takes: it grows with each take. A row of the first version has none, and its steps had the token of its
 * host. That of the host that takes it now is larger: no host of the older release can claim a store that was migrated.
 */
export function taken({ epoch }: Pick<FlowRow, "epoch">, token: number): number {
  return epoch === null ? token : epoch + 1;
}

/**
 * The schema of flows. Version 2 has the column `epoch`, version 3 has `on_cancel`, version 4 has `heartbeats`, version 5 has `request`. Without `flow_blobs`, values are in a code that no
 * release ever wrote.
 */
export const FLOW_SCHEMA: Schema = {
  name: "flow",
  version: 5,
  tables: [flows, journal, mail, events, blobs, remains],
  requires: [blobs.name],
};

/** A claim on this name, followed by the host's id, lets a host hold flows. */
export const HOST_CLAIMS = "flows/";
/** Topic of hosts that have given back their claims, and held flows: others look for these. */
export const LEFT_TOPIC = "left";
/** Topic of mail: followed by the flow's number. */
export const MAIL_TOPIC = "mail/";
/** Topic of flows that can be taken by any host: followed by the flow's number. */
export const READY_TOPIC = "ready/";
/** Topic of flows that were started by a parent, and have no number that it knows: followed by the flow's id. */
export const BORN_TOPIC = "born/";
/** Topic of requests to a flow that is held: followed by its number. */
export const REQUEST_TOPIC = "wish/";
/** Topic of ends: followed by the flow's id. */
export const END_TOPIC = "end/";
/** Topic of published events: followed by the flow's id. */
export const EVENT_TOPIC = "event/";
