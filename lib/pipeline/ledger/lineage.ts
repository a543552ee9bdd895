// Lineage: what became of each message in its route, call by call. One packed row a message; its id names its ancestors.

import type { MessageId } from "../definition/message-id.js";

/** One call of an adapter. */
export interface CallRecord {
  /** The name of the adapter. */
  readonly adapter: string;
  /** `skipped`: the condition of the adapter was false. `ended`: it returned nothing, so nothing went on. */
  readonly status: "completed" | "skipped" | "ended" | "failed";
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly tookMs: number;
  /** How many values it gave. */
  readonly gave: number;
  /** Hashes of what it got and gave, as they were at the time of the call; if the pipeline asks for them. */
  readonly input?: string;
  readonly output?: string;
  /** The error of a call that failed. */
  readonly error?: string;
}

/** What became of a message. */
export interface LineageEntry {
  readonly id: MessageId;
  readonly route: string;
  readonly status: "completed" | "dead" | "cancelled";
  readonly attempt: number;
  readonly calls: readonly CallRecord[];
  /** How many children it has in other queues. */
  readonly children: number;
  /** The id of the first message of the batch in which it was processed. */
  readonly batch?: MessageId;
}
