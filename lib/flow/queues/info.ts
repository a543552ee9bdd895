// Queues as people see them: how many flows run and wait in each, and how many only the rate holds back.

import type { Store } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { flows } from "../journal/tables.js";
import { declaredQueues, limitsOf, type QueueLimitsInfo } from "./declared.js";
import { starts } from "./tables.js";

/** A queue of flows in the store. */
export interface QueueInfo {
  /** The name of the queue. */
  readonly name: string;
  /** Its limits, as a host declared them last. Absent: no host has. */
  readonly limits?: QueueLimitsInfo;
  /** How many of its flows hold a slot, over all hosts. */
  readonly running: number;
  /** How many of its flows wait for a slot. */
  readonly waiting: number;
  /** How many of these could run now if the queue had no `rate`. Rates of keys are not counted. */
  readonly heldByRate: number;
  /** How many of its flows have started within the period of its `rate`. Absent: it has none. */
  readonly recent?: number;
}

/** Most queues that are read. */
const MOST_QUEUES = 10_000;

/** All queues that a host has declared, or that a flow waits or runs in, by name. @param atMost - no count goes further. Undefined: no limit */
export async function readQueues(store: Store, atMost?: number): Promise<QueueInfo[]> {
  const declared = await store.scan(declaredQueues, { limit: MOST_QUEUES });
  const limits = new Map(declared.map((row) => [row.queue, limitsOf(row)]));
  const used = await Promise.all([namesIn(store, "waiting"), namesIn(store, "slot")]);
  const names = [...new Set([...limits.keys(), ...used.flat()])].sort();
  const now = await wholeClock(store);
  return Promise.all(names.map((name) => readQueue(store, name, limits.get(name), now, atMost)));
}

/** The different values of an index, each found by one look behind the one before. */
async function namesIn(store: Store, index: "waiting" | "slot"): Promise<string[]> {
  const names: string[] = [];
  while (names.length < MOST_QUEUES) {
    const [row] = await store.scan(flows, { index, after: names.at(-1) ?? "", limit: 1 });
    const name = row?.[index];
    if (name === undefined || name === null) break;
    names.push(name);
  }
  return names;
}

async function readQueue(
  store: Store,
  name: string,
  limits: QueueLimitsInfo | undefined,
  now: number,
  atMost: number | undefined,
): Promise<QueueInfo> {
  const { rate } = limits ?? {};
  const bound = atMost === undefined ? {} : { atMost };
  const [running, waiting, recent] = await Promise.all([
    store.count(flows, { index: "slot", prefix: [name], ...bound }),
    store.count(flows, { index: "waiting", prefix: [name], ...bound }),
    rate === undefined
      ? 0
      : store.count(starts, { index: "queue", prefix: [name], after: now - rate.periodMs, ...bound }),
  ]);
  return {
    name,
    running,
    waiting,
    heldByRate: heldBack(limits, running, waiting, recent),
    ...(rate !== undefined && { recent }),
    ...(limits !== undefined && { limits }),
  };
}

/** How many flows the concurrency would let start, and the rate does not. */
export function heldBack(
  { concurrency = Number.POSITIVE_INFINITY, rate }: QueueLimitsInfo = {},
  running: number,
  waiting: number,
  recent: number,
): number {
  if (rate === undefined) return 0;
  const free = Math.max(0, Math.min(waiting, concurrency - running));
  return Math.max(0, free - Math.max(0, rate.limit - recent));
}
