// The journal of a flow, for people and for assertions.

import { decodeEntry } from "../../flow/journal/entry.js";
import { flows, journal } from "../../flow/journal/tables.js";
import type { Store } from "../../store/index.js";

/** One entry of a journal. */
export interface FlowHistoryEntry {
  /** The kind of the request: `step`, `sleep`, `receive` and so on. */
  readonly kind: string;
  /** Its name, with `#2` and so on when the name was used before. */
  readonly key: string;
  /** `done`, `failed`: it threw; `begun`: the wait began; `retry`: an attempt threw, and there is another; `cancelled`: the flow was. */
  readonly what: "done" | "failed" | "begun" | "retry" | "cancelled";
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The journal of a flow, in the order in which the code saw it. */
export interface FlowHistory {
  /** All entries, the first first. */
  readonly entries: readonly FlowHistoryEntry[];
  /** One line an entry: `step charge`, `sleep begun`, `step refund failed`. */
  readonly lines: readonly string[];
}

/** Most rows that are read at once. */
const PAGE = 1_000;

export async function historyOf(store: Store, id: string): Promise<FlowHistory> {
  const entries: FlowHistoryEntry[] = [];
  const kinds = new Map<string, string>();
  const [flow] = await store.scan(flows, { index: "id", prefix: [id], limit: 1 });
  for (let from = 0; flow !== undefined; from += PAGE) {
    const rows = await store.scan(journal, { index: "flow", prefix: [flow.number], from, limit: PAGE });
    for (const { head, value } of rows) {
      const { at, asks, decision } = decodeEntry(head, value);
      for (const { kind, key } of asks) kinds.set(key, kind);
      if (decision.type === "cancelled") entries.push({ kind: "flow", key: id, what: "cancelled", at });
      else
        entries.push({ kind: kinds.get(decision.key) ?? "", key: decision.key, what: whatOf(decision), at });
    }
    if (rows.length < PAGE) break;
  }
  return { entries, lines: entries.map(lineOf) };
}

function whatOf(decision: { readonly type: "done" | "begun" | "failed"; readonly ok?: boolean }) {
  switch (decision.type) {
    case "done":
      return decision.ok === false ? "failed" : "done";
    case "begun":
      return "begun";
    case "failed":
      return "retry";
    default:
      return decision.type satisfies never;
  }
}

function lineOf({ kind, key, what }: FlowHistoryEntry): string {
  const name = key === kind ? key : `${kind} ${key}`;
  return what === "done" ? name : `${name} ${what}`;
}
