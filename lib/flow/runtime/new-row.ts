// The row of a flow that starts.

import { BORN_TOPIC, type FlowRow } from "../journal/tables.js";
import { MORE_TOPIC } from "../queues/tables.js";
import type { NewFlow } from "./port.js";

/** The rank of a flow without priority. */
const LOWEST_RANK = 9;

/**
 * The row of a flow that is about to start.
 *
 * @param dueAtOnce - when it is due if it neither sleeps nor waits in a queue. Null: the host that starts it runs it
 */
export function newRow(flow: NewFlow, now: number, dueAtOnce: number | null = null): Omit<FlowRow, "number"> {
  const { queue, lane = "", rank = LOWEST_RANK, delayMs = 0 } = flow.timing ?? {};
  return {
    id: flow.id,
    name: flow.name,
    version: flow.version,
    status: "pending",
    input: flow.input,
    outcome: null,
    seed: flow.id,
    generation: 0,
    holder: null,
    epoch: 0,
    due: delayMs > 0 ? now + delayMs : queue === undefined ? dueAtOnce : null,
    mail: 0,
    crashes: 0,
    taken_at: 0,
    parent: flow.parent ?? null,
    parent_key: flow.parentKey ?? null,
    on_cancel: flow.isLeft === true ? "leave" : null,
    wish: null,
    queue: queue ?? null,
    queue_key: lane,
    rank,
    waiting: delayMs === 0 ? (queue ?? null) : null,
    slot: null,
    debounce: null,
    hospital: null,
    progress: null,
    heartbeats: null,
    trace: flow.trace ?? null,
    // An id that was made for the start says as much.
    request: flow.request === undefined || flow.request === flow.id ? null : flow.request,
    created: now,
    updated: now,
    finished: null,
  };
}

/** Topics of the commit that starts a flow. `isLeft`: another host may take it. */
export function topicsOfStart({ id, waiting }: Omit<FlowRow, "number">, isLeft: boolean): string[] {
  if (waiting !== null) return [MORE_TOPIC + waiting];
  return isLeft ? [BORN_TOPIC + id] : [];
}
