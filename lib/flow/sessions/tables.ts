// The table of open sessions: the peers to notify when a flow ends.

import { defineTable, type Schema, type Table } from "../../store/index.js";

const COLUMNS = { flow: "integer", session: "text", peer: "text" } as const;

/** One row for each side of an open session: the flow's number, and the id of the flow on the other side. */
export const sessions: Table<typeof COLUMNS> = defineTable("flow_sessions", {
  columns: COLUMNS,
  key: ["flow", "session"],
});

export const SESSION_SCHEMA: Schema = { name: "flow_sessions", version: 1, tables: [sessions] };

/** Topic of the mail of a session: followed by its id. */
export const SESSION_MAIL = "session/";
/** Topic of sessions that wait for an answer: followed by their protocol. */
export const ACCEPT_MAIL = "accept/";
