// The limits of queues as hosts declare them, in the store: for people. Hosts decide by their own options.

import { type Claim, defineTable, type Row, type Schema, type Store, type Table } from "../../store/index.js";
import type { QueueLimits, Rate } from "./choice.js";
import type { QueueSettings } from "./options.js";

const COLUMNS = {
  queue: "text",
  /** As JSON, without those that are infinite. */
  limits: "text",
} as const;

export const declaredQueues: Table<typeof COLUMNS> = defineTable("flow_queue_limits", {
  columns: COLUMNS,
  key: ["queue"],
});

export const QUEUE_LIMITS_SCHEMA: Schema = {
  name: "flow_queue_limits",
  version: 1,
  tables: [declaredQueues],
};

/** The limits of a queue. A limit that is absent does not apply. */
export interface QueueLimitsInfo {
  /** Most flows that run at the same time, over all hosts. */
  readonly concurrency?: number;
  /** Most flows that run at the same time on one host. */
  readonly perHost?: number;
  /** Most starts in a period of so many milliseconds. */
  readonly rate?: Rate;
  /** Most flows of one key that run at the same time. */
  readonly perKey?: number;
  /** Most starts of one key in a period. */
  readonly keyRate?: Rate;
}

function textOf(limits: QueueLimits): string {
  const finite = Object.entries(limits).filter(
    ([, value]) => value !== undefined && value !== Number.POSITIVE_INFINITY,
  );
  return JSON.stringify(Object.fromEntries(finite));
}

/** Stores the limits of a host's queues where they are not what is stored. Of hosts that differ the last one counts. */
export async function declareQueues(
  store: Store,
  claim: Claim,
  queues: ReadonlyMap<string, QueueSettings>,
): Promise<void> {
  if (queues.size === 0) return;
  const all = [...queues.values()].map(({ name, limits }) => ({ queue: name, limits: textOf(limits) }));
  const found = await store.get(
    declaredQueues,
    all.map(({ queue }) => [queue]),
  );
  const changed = all.filter(({ limits }, i) => found[i]?.limits !== limits);
  if (changed.length > 0)
    await store.commit({
      claim,
      writes: changed.map((row) => ({ type: "put", table: declaredQueues, row })),
    });
}

export function limitsOf({ limits }: Row<typeof declaredQueues>): QueueLimitsInfo {
  return JSON.parse(limits) as QueueLimitsInfo;
}
