// The table of schedules: a definition, and the state of its machine.

import { defineTable, type Row, type Schema, type Table } from "../../store/index.js";

const COLUMNS = {
  name: "text",
  /** The name of the flow that is started. */
  flow: "text",
  input: "payload?",
  /** The user's rules as definition.ts completes them, as JSON. */
  definition: "text",
  /** The state of the machine, by its names there. */
  fired: "integer?",
  /** Null: a row of version 1. */
  since: "integer?",
  settled: "text?",
  judged: "integer",
  due: "integer?",
  wake: "integer?",
  paused: "integer",
  last: "text?",
  /** How many due times have started nothing. */
  skipped: "integer",
  /** Counts the changes of the row: of two hosts that decide from the same one, the store refuses one. */
  revision: "integer",
  /** 1: declared by the options of a host. 0: put at run time. */
  declared: "integer",
} as const;

export const schedules: Table<typeof COLUMNS> = defineTable("flow_schedules", {
  columns: COLUMNS,
  key: ["name"],
  indexes: { wake: ["flow", "wake"], judged: ["flow", "paused", "judged"] },
});

export type ScheduleRow = Row<typeof schedules>;

export const SCHEDULE_SCHEMA: Schema = { name: "flow_schedules", version: 2, tables: [schedules] };

/** Topic of schedules that were changed. */
export const SCHEDULE_TOPIC = "schedules";
