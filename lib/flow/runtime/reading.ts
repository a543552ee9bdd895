// Reads a flow for its host: its row, its journal and its mail.

import type { Store } from "../../store/index.js";
import { JournalDamagedError } from "../hospital/errors.js";
import { decodeEntry, type Entry } from "../journal/entry.js";
import { withValues } from "../journal/rows.js";
import { type FlowRow, flows, journal, mail } from "../journal/tables.js";
import type { UnreadMessage } from "../machine/state.js";
import { FlowNotFoundError } from "./errors.js";

/** Rows of a journal, or messages, that are read at once. */
const PAGE = 10_000;

/** @param limit - rows that are read at once. @throws JournalDamagedError */
export async function historyOf(
  store: Store,
  { number, id }: FlowRow,
  limit: number = PAGE,
): Promise<Entry[]> {
  const history: Entry[] = [];
  for (;;) {
    const rows = await store.scan(journal, {
      index: "flow",
      prefix: [number],
      from: history.length,
      limit,
    });
    for (const { seq, head, value } of await withValues(store, rows)) {
      if (seq !== history.length) throw new JournalDamagedError(id, history.length, "is missing");
      try {
        history.push(decodeEntry(head, value));
      } catch (error) {
        throw new JournalDamagedError(id, seq, "cannot be read", { cause: error });
      }
    }
    if (rows.length < limit) return history;
  }
}

export async function findFlow(store: Store, id: string): Promise<FlowRow | undefined> {
  const [row] = await store.scan(flows, { index: "id", prefix: [id], limit: 1 });
  return row;
}

/** @throws FlowNotFoundError */
export async function rowOf(store: Store, id: string): Promise<FlowRow> {
  const row = await findFlow(store, id);
  if (row === undefined) throw new FlowNotFoundError(id);
  return row;
}

/** The messages behind a position that the flow has not received. */
export async function unreadOf(store: Store, number: number, after: number): Promise<UnreadMessage[]> {
  const rows = await store.scan(mail, { index: "unread", prefix: [number], after, limit: PAGE });
  return (await withValues(store, rows)).map(({ position, topic, value }) => ({ position, topic, value }));
}
