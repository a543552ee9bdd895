// How many messages queues have, and which queues a store has.

import type { Store } from "../../store/index.js";
import type { Table } from "../../store/table.js";
import { deadMessages, queued, settledIds, subscribers } from "./tables.js";

/** How many messages a queue has. */
export interface QueueCounts {
  /** Ready for a subscriber. */
  readonly ready: number;
  /** With a subscriber. */
  readonly inFlight: number;
  /** Waiting for their time. */
  readonly delayed: number;
  /** Given up. */
  readonly dead: number;
}

/** The numbers are read one after another, while others publish and settle. */
export async function readCounts(store: Store, name: string): Promise<QueueCounts> {
  const prefix = [name];
  const [all, ready, delayed, dead] = await Promise.all([
    store.count(queued, { index: "id", prefix }),
    store.count(queued, { index: "ready", prefix }),
    store.count(queued, { index: "due", prefix }),
    store.count(deadMessages, { prefix }),
  ]);
  return { ready, inFlight: Math.max(0, all - ready - delayed), delayed, dead };
}

/** Subscribers of a queue whose messages are counted. */
const MOST_SUBSCRIBERS = 1_000;

/** The same, each as far as `atMost`. */
export async function boundedCounts(store: Store, name: string, atMost: number): Promise<QueueCounts> {
  const prefix = [name];
  const [ready, delayed, dead, tokens] = await Promise.all([
    store.count(queued, { index: "ready", prefix, atMost }),
    store.count(queued, { index: "due", prefix, atMost }),
    store.count(deadMessages, { prefix, atMost }),
    store.scan(subscribers, { index: "queue", prefix, limit: MOST_SUBSCRIBERS }),
  ]);
  const held = await Promise.all(
    tokens.map(({ token }) => store.count(queued, { index: "held", prefix: [token], atMost })),
  );
  const inFlight = Math.min(
    atMost,
    held.reduce((sum, one) => sum + one, 0),
  );
  return { ready, inFlight, delayed, dead };
}

/** Tables that name a queue in each row, and the index that begins with it. Undefined: that of the keys. */
const NAMED: readonly (readonly [table: Table, index: string | undefined])[] = [
  [queued as Table, "id"],
  [deadMessages as Table, undefined],
  [settledIds as Table, undefined],
  [subscribers as Table, "queue"],
];

/** The names of all queues that have rows, in their order. Reads one row of each queue and table. @param after - only those behind this name */
export async function* queueNames(store: Store, after?: string): AsyncGenerator<string, void, undefined> {
  for (let last = after; ; ) {
    const bounds = last === undefined ? {} : { after: last };
    const found = await Promise.all(
      NAMED.map(([table, index]) =>
        store.scan(table, { ...(index !== undefined && { index }), ...bounds, limit: 1 }),
      ),
    );
    // Names are of ASCII: their order here is that of the store.
    const [next] = found
      .flatMap(([row]) => (row === undefined ? [] : [(row as unknown as QueueOf).queue]))
      .sort();
    if (next === undefined) return;
    yield next;
    last = next;
  }
}

/** Whether a store has rows of a queue of this name. */
export async function hasQueue(store: Store, name: string): Promise<boolean> {
  const found = await Promise.all(
    NAMED.map(([table, index]) =>
      store.scan(table, { ...(index !== undefined && { index }), prefix: [name], limit: 1 }),
    ),
  );
  return found.some(([row]) => row !== undefined);
}

interface QueueOf {
  readonly queue: string;
}
