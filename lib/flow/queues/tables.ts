// Tables of queues. The rows of the flows themselves say which flows wait and which hold a slot, so both change in one commit: a flow that
// ends, or goes to the hospital, gives its slot back by the same write.

import { defineTable, type Schema, type Table } from "../../store/index.js";

const GATE_COLUMNS = { queue: "text", version: "integer" } as const;

/** One row a queue: counts its admissions, so that of two hosts which admit at the same version one is refused. */
export const gates: Table<typeof GATE_COLUMNS> = defineTable("flow_gates", {
  columns: GATE_COLUMNS,
  key: ["queue"],
});

const START_COLUMNS = { number: "integer", queue: "text", lane: "text", at: "integer" } as const;

/** The starts of queues with a rate, until they leave the period. */
export const starts: Table<typeof START_COLUMNS> = defineTable("flow_starts", {
  columns: START_COLUMNS,
  key: ["number"],
  counted: "number",
  indexes: { queue: ["queue", "at"], lane: ["queue", "lane", "at"] },
});

export const QUEUE_SCHEMA: Schema = { name: "flow_queues", version: 1, tables: [gates, starts] };

/** Topic of flows that were put in a queue: followed by its name. */
export const MORE_TOPIC = "queue-more/";
/** Topic of slots that were given back: followed by the name of the queue. */
export const ROOM_TOPIC = "queue-room/";
