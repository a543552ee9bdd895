// The live messages of a queue for people: which may be taken, which a subscriber has, and which wait for their time, and why. A look reads as
// many rows as it was asked for, by the indexes that subscribers use.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import type { Store } from "../../store/index.js";
import { endsOf, type Failure, historyOf } from "./status.js";
import { type QueuedRow, queued, subscribers } from "./tables.js";

/** Where a live message is: it may be taken, a subscriber has it, or it waits for its time. */
export type LiveQueueState = "ready" | "inFlight" | "delayed";

/** Which live messages are listed. */
export interface LiveQueueOptions {
  /** Only these. Default: those that wait for their time first, then those that a subscriber has, then those that may be taken. */
  readonly state?: LiveQueueState;
  /** Most messages, 1 to 500. Default 100. */
  readonly limit?: number;
}

/** A message that is not settled. */
export interface LiveQueueMessage {
  /** The id of the message. */
  readonly id: string;
  /** Its number in the store, by which evidence names it. */
  readonly number: number;
  readonly state: LiveQueueState;
  /** Its key, if one was given. */
  readonly key?: string;
  /** When it may be taken, in milliseconds since 1970 by the clock of the store. Absent: it may be, or a subscriber has it. */
  readonly until?: number;
  /** Since when it may be taken, if that is known. */
  readonly since?: number;
  /**
   * Why it waits. `attempt`: its last attempt has failed, or asked for another one. `quarantine`: it has ended a process, by evidence, and
   * stands aside. `setback`: a passing error of a store was in the way. `publisher`: it was published with a delay.
   */
  readonly why?: "attempt" | "quarantine" | "setback" | "publisher";
  /** How often it was tried. */
  readonly attempts: number;
  /** How often it has ended its process, by evidence. */
  readonly ends: number;
  /** What went wrong, the first attempt first. */
  readonly history: readonly Failure[];
}

const STATES: readonly LiveQueueState[] = ["delayed", "inFlight", "ready"];
const MOST = 500;
const USUAL = 100;
/** Subscribers of a queue whose messages are looked for. */
const MOST_SUBSCRIBERS = 1_000;

/** @throws OptionError */
export async function readLive(
  store: Store,
  queue: string,
  options: LiveQueueOptions = {},
): Promise<readonly LiveQueueMessage[]> {
  only("", options, ["state", "limit"]);
  const { state } = options;
  if (state !== undefined && !STATES.includes(state))
    throw new OptionError("state", state, `one of ${STATES.join(", ")}`);
  const most = Math.min(count("limit", options.limit ?? USUAL, 1), MOST);
  const found: LiveQueueMessage[] = [];
  for (const one of state === undefined ? STATES : [state]) {
    const left = most - found.length;
    if (left === 0) break;
    for (const row of await rowsIn(store, queue, one, left)) found.push(shown(row, one));
  }
  return found;
}

async function rowsIn(
  store: Store,
  queue: string,
  state: LiveQueueState,
  limit: number,
): Promise<QueuedRow[]> {
  if (state === "delayed") return store.scan(queued, { index: "due", prefix: [queue], limit });
  if (state === "ready") return store.scan(queued, { index: "ready", prefix: [queue], limit });
  const all = await store.scan(subscribers, { index: "queue", prefix: [queue], limit: MOST_SUBSCRIBERS });
  const found: QueuedRow[] = [];
  for (const { token } of all) {
    if (found.length === limit) break;
    found.push(
      ...(await store.scan(queued, { index: "held", prefix: [token], limit: limit - found.length })),
    );
  }
  return found;
}

function shown(row: QueuedRow, state: LiveQueueState): LiveQueueMessage {
  const { id, number, tag, due, attempts } = row;
  const history = historyOf(row.history);
  return {
    ...{ id, number, state },
    ...(tag !== null && { key: tag }),
    ...(state === "delayed" && { until: due ?? 0, why: whyOf(history.at(-1)) }),
    ...(state === "ready" && due !== null && { since: due }),
    ...{ attempts, ends: endsOf(row), history },
  };
}

function whyOf(last: Failure | undefined): NonNullable<LiveQueueMessage["why"]> {
  if (last === undefined) return "publisher";
  if (last.evidence !== undefined) return "quarantine";
  return last.setbacks === undefined ? "attempt" : "setback";
}
