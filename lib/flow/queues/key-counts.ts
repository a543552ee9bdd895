// How many flows of each key wait in a queue, and run: who is in whose way. Each key is found by one look behind the one before, so a look reads one
// row and one bounded count for each key.

import type { Store } from "../../store/index.js";
import { type FlowRow, flows } from "../journal/tables.js";

/** The flows of one key of a queue. */
export interface QueueKeyInfo {
  /** The key. Empty: the flows that were started without one. */
  readonly key: string;
  /** How many of them wait for a slot. */
  readonly waiting: number;
  /** How many of them hold a slot, over all hosts. */
  readonly running: number;
}

/** The keys of a queue. */
export interface QueueKeys {
  /** Those with the most flows that wait first. */
  readonly keys: readonly QueueKeyInfo[];
  /** There are more keys than were read: counts of the last ones may be too small. */
  readonly more: boolean;
}

/** Reads the keys of a queue. @param atMost - no count goes further. Undefined: no limit */
export async function readKeys(
  store: Store,
  queue: string,
  limit: number,
  atMost: number | undefined,
): Promise<QueueKeys> {
  const bound = atMost === undefined ? {} : { atMost };
  const found = new Map<string, { waiting: number; running: number }>();
  const of = (key: string): { waiting: number; running: number } => {
    const known = found.get(key) ?? { waiting: 0, running: 0 };
    found.set(key, known);
    return known;
  };
  const countOf = (index: string, ...prefix: (string | number)[]): Promise<number> =>
    store.count(flows, { index, prefix, ...bound });
  let left = limit;
  const ranks = valuesOf(store, { index: "waiting", prefix: [queue] }, ({ rank }) => rank);
  for await (const rank of ranks) {
    const keys = valuesOf(store, { index: "waiting", prefix: [queue, rank] }, (row) => row.queue_key);
    for await (const key of keys) {
      if (left-- === 0) break;
      of(key).waiting += await countOf("waiting", queue, rank, key);
    }
    if (left < 0) break;
  }
  let slots = limit;
  const running = valuesOf(store, { index: "slot", prefix: [queue] }, (row) => row.queue_key);
  for await (const key of running) {
    if (slots-- === 0) break;
    of(key).running = await countOf("slot", queue, key);
  }
  const most = atMost ?? Number.POSITIVE_INFINITY;
  const keys = [...found].map(
    ([key, { waiting, running: held }]): QueueKeyInfo => ({
      ...{ key, waiting: Math.min(waiting, most), running: held },
    }),
  );
  keys.sort((a, b) => b.waiting - a.waiting || b.running - a.running || (a.key < b.key ? -1 : 1));
  return { keys, more: left < 0 || slots < 0 };
}

/** The different values of a column of an index behind a prefix. */
async function* valuesOf<T extends string | number>(
  store: Store,
  scan: { readonly index: string; readonly prefix: readonly (string | number)[] },
  of: (row: FlowRow) => T,
): AsyncGenerator<T, void, undefined> {
  for (let after: T | undefined; ; ) {
    const [row] = await store.scan(flows, { ...scan, ...(after !== undefined && { after }), limit: 1 });
    if (row === undefined) return;
    after = of(row);
    yield after;
  }
}
