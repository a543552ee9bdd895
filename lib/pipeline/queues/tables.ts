// The tables of queues. A message is ready, held by a subscriber, or delayed: the column that says so is also the index that finds it.

import { defineTable, type Row, type Schema, type Table } from "../../store/index.js";
import { CHANNEL_COLUMNS } from "../messages/channel-machine.js";
import { RECORD_COLUMNS } from "../messages/dead-records.js";

const MESSAGE_COLUMNS = {
  /** The order of the queue. */
  number: "integer",
  queue: "text",
  id: "text",
  /** 1: the publisher gave the id, so it is remembered when the message is settled. */
  named: "integer",
  body: "payload",
  /** The key of the message. */
  tag: "text?",
  /** How often it was tried. Attempts that the end of a process interrupted do not count. */
  attempts: "integer",
  /** The errors of the attempts, as JSON. */
  history: "text?",
  /** The trace in which it was published. */
  trace: "text?",
  /** The queue, if the message can be taken. */
  ready: "text?",
  /** The token of the claim of the subscriber that has taken it. */
  held: "integer?",
  /** The queue, if the message waits for its time … */
  delayed: "text?",
  /**
   * … and that time, by the clock of the store. If the message can be taken: since when it can. A subscriber that has taken it leaves this as
   * it was, so that a message which is given back has waited since then. Null: an older release has made it ready.
   */
  due: "integer?",
  /** The queue, if a broker still has to confirm the message. */
  unsent: "text?",
  /** Grows whenever it becomes ready again. */
  round: "integer",
  /** The last heartbeat of its handler. Null: there was none. */
  heartbeats: "payload?",
  /** The queue, if the message has a heartbeat. */
  alive: "text?",
  /** How often it has ended its process, by evidence. Null: as often as its history says. */
  quarantines: "integer?",
} as const;

/** The live messages of all queues. */
export const queued: Table<typeof MESSAGE_COLUMNS> = defineTable("queue_messages", {
  columns: MESSAGE_COLUMNS,
  key: ["number"],
  counted: "number",
  indexes: {
    id: ["queue", "id"],
    ready: ["ready", "number"],
    held: ["held", "number"],
    due: ["delayed", "due"],
    unsent: ["unsent", "number"],
    alive: ["alive", "number"],
  },
  unique: ["id"],
});
export type QueuedRow = Row<typeof queued>;

const DEAD_COLUMNS = {
  queue: "text",
  id: "text",
  named: "integer",
  body: "payload",
  tag: "text?",
  attempts: "integer",
  history: "text?",
  /** When it was given up, by the clock of the store. */
  at: "integer",
  /** The trace in which it was published. */
  trace: "text?",
} as const;

/** Messages that were given up. */
export const deadMessages: Table<typeof DEAD_COLUMNS> = defineTable("queue_dead", {
  columns: DEAD_COLUMNS,
  key: ["queue", "id"],
  indexes: { at: ["queue", "at"] },
});
export type DeadRow = Row<typeof deadMessages>;

const DEAD_RECORD_COLUMNS: typeof DEAD_COLUMNS & typeof RECORD_COLUMNS = {
  ...DEAD_COLUMNS,
  ...RECORD_COLUMNS,
};

/** What became of messages that were given up. Remembered as long as ids of settled messages. */
export const deadRecords: Table<typeof DEAD_RECORD_COLUMNS> = defineTable("queue_dead_records", {
  columns: DEAD_RECORD_COLUMNS,
  key: ["queue", "id", "turn"],
  indexes: { done: ["queue", "done"] },
});
export type DeadRecordRow = Row<typeof deadRecords>;

const SETTLED_COLUMNS = { queue: "text", id: "text", at: "integer" } as const;

/** Ids of messages that are settled: a message with one of them is a duplicate. */
export const settledIds: Table<typeof SETTLED_COLUMNS> = defineTable("queue_settled", {
  columns: SETTLED_COLUMNS,
  key: ["queue", "id"],
  indexes: { at: ["queue", "at"] },
});

const SUBSCRIBER_COLUMNS = { token: "integer", queue: "text", concurrency: "integer" } as const;

/** Subscribers. The messages that a subscriber held when it died are found by its token. */
export const subscribers: Table<typeof SUBSCRIBER_COLUMNS> = defineTable("queue_subscribers", {
  columns: SUBSCRIBER_COLUMNS,
  key: ["token"],
  indexes: { queue: ["queue"] },
});

/** Which channel of a broker counts. */
export const channels: Table<{ readonly queue: "text" } & typeof CHANNEL_COLUMNS> = defineTable(
  "queue_channels",
  { columns: { queue: "text", ...CHANNEL_COLUMNS }, key: ["queue"] },
);

/**
 * Version 2 has the column `trace` of messages; version 3 also of dead letters, and their records; version 4 `heartbeats` and `alive` of
 * messages, version 5 `quarantines` of messages.
 */
export const QUEUE_SCHEMA: Schema = {
  name: "queues",
  version: 5,
  tables: [queued, deadMessages, deadRecords, settledIds, subscribers, channels],
};

/** The claims of subscribers have names that begin so. */
export const SUBSCRIBER_CLAIMS = "queues/";
/** The claims of programs that count together where their lives end have names that begin so. */
export const SHARER_CLAIMS = "queue-ends/";
/** The topics of all queues begin so. */
export const QUEUE_TOPICS = "queues/";
/** The topic of notifications about messages of a queue. */
export const topicOf = (queue: string): string => `${QUEUE_TOPICS}${queue}/`;
