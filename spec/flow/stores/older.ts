// The schema of flows as its first version had it: without the columns `epoch`, `on_cancel`, `heartbeats` and `request`.

import { FLOW_SCHEMA, type FlowRow, flows } from "../../../lib/flow/journal/tables.js";
import { newRow } from "../../../lib/flow/runtime/starting.js";
import { type Claim, defineTable, type Schema, type Store } from "../../../lib/store/index.js";

const { epoch: _, on_cancel: __, heartbeats: ___, request: ____, ...columns } = flows.columns;

const table = defineTable("flows", {
  columns,
  key: ["number"],
  counted: "number",
  indexes: flows.indexes as never,
  unique: ["id", "debounce"],
});

export const OLDER_SCHEMA: Schema = {
  ...FLOW_SCHEMA,
  version: 1,
  tables: FLOW_SCHEMA.tables.map((one) => (one.name === table.name ? table : one)),
};

/** Writes a flow as a host of the older release left it, with what this sets. */
export async function putOlder(store: Store, claim: Claim, more: Partial<FlowRow>): Promise<void> {
  const flow = { id: "", name: "work", version: 1, input: null };
  const {
    epoch: _,
    on_cancel: __,
    heartbeats: ___,
    request: ____,
    ...row
  } = { ...newRow(flow, 1), ...more, seed: more.id ?? "" };
  await store.commit({ claim, writes: [{ type: "insert", table, row }] });
}
