// The tables of pipelines. The live messages are the queues; everything else says what became of messages.

import { defineTable, type Row, type Schema, type Table } from "../../store/index.js";
import { CHANNEL_COLUMNS } from "../messages/channel-machine.js";
import { RECORD_COLUMNS } from "../messages/dead-records.js";

/** What an execution is doing. `paused` waits for people; `completed`, `failed` and `cancelled` have ended. */
export type ExecutionStatus = "running" | "paused" | "completed" | "failed" | "cancelled";

const EXECUTION_COLUMNS = {
  /** Short, and in the order of the starts. */
  number: "integer",
  /** The user's id. */
  id: "text",
  pipeline: "text",
  status: "text",
  /** The configuration at its start, for people and for `replay`; the code comes from the host's definition. */
  config: "payload?",
  input: "payload?",
  /** Live messages and open sources. */
  pending: "integer",
  /** Messages that were settled; those of them that are dead letters now. */
  done: "integer",
  dead: "integer",
  /** Messages that sources have given. */
  inputs: "integer",
  /** Why it failed. */
  error: "payload?",
  /** The execution of which it replays messages. */
  replays: "integer?",
  created: "integer",
  ended: "integer?",
  /** 1: it has ended, and the end is not announced. A host that starts announces such ends. */
  unannounced: "integer?",
  /** When it ended, as long as its rows in other tables are kept. */
  kept: "integer?",
  /** The trace in which it was started. */
  trace: "text?",
  /** The call that started it under an id of the caller: its repeat is no second start. */
  request: "text?",
  /** What its routes did, as JSON, once its history was summed up. */
  totals: "payload?",
  /** What it needs and its pipeline does not have, as JSON. Null: nothing, as far as a host has looked. */
  stranded: "text?",
  /** The version of its pipeline with which it began, or to which people have moved it. Null: 1. */
  version: "integer?",
  /** How often people have changed its messages and sources. Null: never. See changes.ts. */
  changed: "integer?",
  /** Messages that people have ended; they count among those that are done. Null: none. */
  dropped: "integer?",
  /** Messages that were dead letters, and that a replay has. Null: none. */
  replayed: "integer?",
} as const;

/** One row an execution: its frozen configuration, and the counters that decide its completion. */
export const executions: Table<typeof EXECUTION_COLUMNS> = defineTable("pipeline_executions", {
  columns: EXECUTION_COLUMNS,
  key: ["number"],
  indexes: {
    id: ["id"],
    pipeline: ["pipeline", "number"],
    status: ["status", "number"],
    unannounced: ["unannounced", "number"],
    kept: ["kept", "number"],
  },
  unique: ["id"],
});
/** The topic of an execution: something about it has changed that its hosts have to look at. */
export const executionTopic = (number: number): string => `pipelines/execution/${number}/`;
/** Behind the topic of an execution: messages of the queue that follows are ready, and no host has taken them. No queue: of any. */
export const READY_NEWS = "ready/";
/** Names of claims of hosts begin so. */
export const HOST_CLAIMS = "pipelines/host/";
/** Topics of all hosts: an execution was started, or its end was announced. The token of the host's claim follows. */
export const HOSTS_TOPIC = "pipelines/hosts/";

/** Topics of all hosts: an execution that had ended goes on. The number of the execution follows. */
export const REOPENED_TOPIC = "pipelines/reopened/";

export type ExecutionRow = Row<typeof executions>;

/** The lane of what is ready. A message that waits for its time has that time as its lane, by the clock of the store. */
export const READY = 0;

const MESSAGE_COLUMNS = {
  /** The number of the execution; 0 for queues that belong to no execution. */
  scope: "integer",
  queue: "text",
  /** {@link READY}, or when it may be tried again. */
  lane: "integer",
  /** If it is ready: since when, by the clock of the store. Null: an older release has written it. */
  since: "integer?",
  id: "text",
  body: "payload",
  /** The key of the message. */
  tag: "text?",
  /** How often it was tried. Attempts that the end of a process interrupted do not count. Null: never. */
  attempts: "integer?",
  /** The errors of the attempts, as JSON. */
  history: "text?",
  /** The token of the claim of the host that has taken it. Null: no host has. */
  holder: "integer?",
  /** How often it has ended its process, by evidence. Null: never. */
  quarantines: "integer?",
  /** The passing errors of a store that it met one after another, as JSON. Null: its last attempt met none. */
  setback: "text?",
  /** What people did with it, as JSON: see `MessageChange`. Null: nothing. */
  changes: "text?",
  /** The last heartbeats of its adapters. Null: there were none. */
  heartbeats: "payload?",
  /** The number of the execution, if the message has heartbeats. */
  alive: "integer?",
} as const;

/**
 * The live messages. A queue is a range of keys: ready messages in the order of the ids, and behind them delayed ones in the order of the
 * times. So all messages that may be tried now are one range. In a store that several processes share, the row names the host that has
 * taken the message; in a store of one process, all messages are its.
 */
export const messages: Table<typeof MESSAGE_COLUMNS> = defineTable("pipeline_messages", {
  columns: MESSAGE_COLUMNS,
  key: ["scope", "queue", "lane", "id"],
  indexes: { holder: ["holder", "scope"], alive: ["alive", "id"] },
});
export type MessageRow = Row<typeof messages>;

const LINEAGE_COLUMNS = { scope: "integer", id: "text", entry: "payload" } as const;

/** What became of each message of each route: one packed row. See lineage.ts. */
export const lineage: Table<typeof LINEAGE_COLUMNS> = defineTable("pipeline_lineage", {
  columns: LINEAGE_COLUMNS,
  key: ["scope", "id"],
});
export type LineageRow = Row<typeof lineage>;

const DEAD_LETTER_COLUMNS = {
  scope: "integer",
  queue: "text",
  id: "text",
  body: "payload",
  tag: "text?",
  history: "text",
  at: "integer",
} as const;

/** Messages that were given up, with their whole history. */
export const deadLetters: Table<typeof DEAD_LETTER_COLUMNS> = defineTable("pipeline_dead", {
  columns: DEAD_LETTER_COLUMNS,
  key: ["scope", "queue", "id"],
});
export type DeadLetterRow = Row<typeof deadLetters>;

const DEAD_RECORD_COLUMNS: typeof DEAD_LETTER_COLUMNS &
  typeof RECORD_COLUMNS & { readonly target: "integer?"; readonly entry: "payload?" } = {
  ...DEAD_LETTER_COLUMNS,
  ...RECORD_COLUMNS,
  /** The number of the execution that has its last copy. */
  target: "integer?",
  /** Its lineage up to here, if it was put back. */
  entry: "payload?",
};

/** What became of messages that were given up: one row for each time. */
export const deadRecords: Table<typeof DEAD_RECORD_COLUMNS> = defineTable("pipeline_dead_records", {
  columns: DEAD_RECORD_COLUMNS,
  key: ["scope", "queue", "id", "turn"],
  indexes: { fate: ["scope", "queue", "fate", "id"] },
});
export type DeadRecordRow = Row<typeof deadRecords>;

const KEPT_COLUMNS = {
  scope: "integer",
  queue: "text",
  id: "text",
  body: "payload",
  tag: "text?",
} as const;

/** The values of settled messages, of routes that keep them for a replay. Written in the commit that settles the message. */
export const keptValues: Table<typeof KEPT_COLUMNS> = defineTable("pipeline_values", {
  columns: KEPT_COLUMNS,
  key: ["scope", "queue", "id"],
});
export type KeptRow = Row<typeof keptValues>;

/** The source of an execution that replays messages of another one. No source of a user has a name like this. */
export const REPLAY_SOURCE = "(replay)";

const SOURCE_COLUMNS = {
  scope: "integer",
  name: "text",
  /** How many messages it has given. */
  given: "integer",
  checkpoint: "payload?",
  /** 1 as long as it may give more. */
  open: "integer",
  /** The token of the claim of the host that reads it. Null: no host does, or the store has one process. */
  holder: "integer?",
  /** Why people have closed it. Null: they have not. */
  dropped: "text?",
} as const;

/** How far the sources of an execution are. */
export const sources: Table<typeof SOURCE_COLUMNS> = defineTable("pipeline_sources", {
  columns: SOURCE_COLUMNS,
  key: ["scope", "name"],
  indexes: { holder: ["holder", "scope"] },
});

const HELD_COLUMNS = { scope: "integer", holder: "integer", count: "integer", rank: "integer" } as const;

/**
 * How many messages each host of a shared store holds in batches that are not due, as of when it had nothing else to do. `rank` is the place
 * of its first route that holds some, upstream first.
 */
export const held: Table<typeof HELD_COLUMNS> = defineTable("pipeline_held", {
  columns: HELD_COLUMNS,
  key: ["scope", "holder"],
  indexes: { holder: ["holder", "scope"] },
});

const MEMORY_COLUMNS = { scope: "integer", adapter: "text", key: "text", value: "payload?" } as const;

/** What adapters remember: keys that were seen, for example. Written in the commit that settles the message. */
export const memory: Table<typeof MEMORY_COLUMNS> = defineTable("pipeline_memory", {
  columns: MEMORY_COLUMNS,
  key: ["scope", "adapter", "key"],
});

const OUTBOX_COLUMNS = {
  scope: "integer",
  queue: "text",
  lane: "integer",
  id: "text",
  /** When it was written, by the clock of the store: a later row is another one. */
  round: "integer",
} as const;

/** Keys of messages that no host has taken, and that a broker has not confirmed. Empty where no broker carries messages. */
export const outbox: Table<typeof OUTBOX_COLUMNS> = defineTable("pipeline_outbox", {
  columns: OUTBOX_COLUMNS,
  key: ["scope", "queue", "lane", "id"],
});

/** Which channel of a broker counts. */
export const carriedChannels: Table<
  { readonly scope: "integer"; readonly queue: "text" } & typeof CHANNEL_COLUMNS
> = defineTable("pipeline_channels", {
  columns: { scope: "integer", queue: "text", ...CHANNEL_COLUMNS },
  key: ["scope", "queue"],
});

const OFFER_COLUMNS = {
  pipeline: "text",
  /** A version of the pipeline whose executions the host can run. */
  version: "integer",
  /** The token of the claim of the host. */
  holder: "integer",
} as const;

/** Which host can run which executions, in a store that several processes share. */
export const offers: Table<typeof OFFER_COLUMNS> = defineTable("pipeline_offers", {
  columns: OFFER_COLUMNS,
  key: ["pipeline", "version", "holder"],
  indexes: { holder: ["holder", "pipeline", "version"] },
});

/**
 * Version 2 has the column `trace` of executions, version 3 `quarantines` of messages, version 4 `stranded` of executions, version 5
 * `setback` of messages, version 6 `version`, `changed` and `dropped` of executions, `changes` of messages and `dropped` of sources,
 * version 7 `request` of executions, version 8 the records of dead letters, and `replayed` of executions, version 9
 * `heartbeats` and `alive` of messages, version 10 the offers of hosts, version 11 `since` of messages.
 */
export const PIPELINE_SCHEMA: Schema = {
  name: "pipelines",
  version: 11,
  tables: [
    executions,
    messages,
    lineage,
    deadLetters,
    deadRecords,
    keptValues,
    sources,
    held,
    memory,
    outbox,
    carriedChannels,
    offers,
  ],
  // Messages whose commits a power loss takes are worked on again: each is settled in the commit that makes its children, or not at all.
  durability: "process-kill",
};
