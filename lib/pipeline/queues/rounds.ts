// Changes of messages that a broker carries. Each begins a new round of the message: a mark of an earlier round marks nothing.

import type { AnyRow, Store, Write } from "../../store/index.js";
import { type QueuedRow, queued, topicOf } from "./tables.js";

/** Changes those rows that are still as they were read. */
export async function newRound(
  store: Store,
  queue: string,
  rows: readonly QueuedRow[],
  is: AnyRow,
  set: AnyRow,
): Promise<void> {
  const table = queued;
  if (rows.length === 0) return;
  const writes = rows.map(({ number, round }): Write => {
    const row = { table, key: [number] };
    return {
      type: "when",
      ...row,
      is: { ...is, round },
      writes: [{ type: "update", ...row, set, add: { round: 1 } }],
    };
  });
  await store.commit({ writes, notify: [topicOf(queue)] });
}
