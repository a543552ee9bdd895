// The signals of a flow host: what is due in its store, and what it holds. See HostSignals.

import { type DueSignals, LOOKED_AT, MOST_DUE, oldestOf } from "../../host/signals.js";
import type { Store } from "../../store/index.js";
import { flows } from "../journal/tables.js";

/**
 * What no host holds and is due, by the index of due flows. Flows that are due at once are in the order of their starts, not of their
 * waits.
 */
export async function dueFlows(store: Pick<Store, "count" | "scan">, now: number): Promise<DueSignals> {
  const free = { index: "due", where: { holder: null } };
  const [due, atOnce, timed] = await Promise.all([
    store.count(flows, { ...free, below: now + 1, atMost: MOST_DUE }),
    store.scan(flows, { ...free, prefix: [0], limit: LOOKED_AT }),
    store.scan(flows, { ...free, from: 1, below: now + 1, limit: 1 }),
  ]);
  const since = [...atOnce.map(({ updated }) => updated), ...timed.map((row) => row.due)];
  return { due, oldestDueMs: oldestOf(now, since) };
}
