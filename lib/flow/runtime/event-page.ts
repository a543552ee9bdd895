// The events that a flow has published with `flow.emit`: those behind a position, and the wait for further ones.

import { only } from "../../process/known-options.js";
import { count, delay, flag } from "../../process/options.js";
import type { Store } from "../../store/index.js";
import { watchTopics } from "../../store/topic-wait.js";
import { named } from "../definition/names.js";
import type { Stored } from "../journal/entry.js";
import { withValues } from "../journal/rows.js";
import { END_TOPIC, EVENT_TOPIC, type EventRow, events, isEnded } from "../journal/tables.js";
import { FlowWaitTimeoutError } from "./errors.js";
import { rowOf } from "./reading.js";

/** Something that a flow has published with `flow.emit`. */
export interface FlowEvent<T = unknown> {
  /** Grows from event to event of a flow, not by one. */
  readonly position: number;
  readonly topic: string;
  readonly value: T;
  /** When the flow published it, in milliseconds since 1970. */
  readonly at: number;
}

/** Which events of a flow are wanted. */
export interface FlowEventOptions {
  /** Only events behind this position. Default 0: from the first. */
  readonly after?: number;
  /** Only events of this topic. Default: all. */
  readonly topic?: string;
  /** Whether to wait for further events, until the flow has ended. Default true. False: those that are there. */
  readonly follow?: boolean;
  /** How many milliseconds to wait for an event. Default: no limit. */
  readonly timeoutMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** Events as they are stored. */
export interface EventPage {
  readonly rows: readonly EventRow[];
  /** No event comes behind them. */
  readonly isLast: boolean;
}

/** How long a wait for further events may last. */
export interface EventWait {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Sets a timer; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
}

/** Where events come from. @param waitMs - how long to wait for the next one if there are none; undefined: not at all */
export type EventPages = (
  after: number,
  waitMs: number | undefined,
  signal: AbortSignal | undefined,
) => Promise<EventPage>;

/** The longest single wait, in milliseconds. After it, a wait whose caller has gone is forgotten. */
export const EVENT_WAIT_MS = 10_000;

/**
 * The events of a flow, one after another.
 *
 * @throws OptionError, FlowNotFoundError, FlowWaitTimeoutError
 */
export async function* eventsOf(
  id: string,
  options: FlowEventOptions,
  pages: EventPages,
  decode: (value: Stored) => unknown,
): AsyncGenerator<FlowEvent, void, undefined> {
  only("", options, ["after", "topic", "follow", "timeoutMs", "signal"]);
  let behind = count("after", options.after ?? 0, 0);
  const wanted = options.topic === undefined ? undefined : named("topic", options.topic);
  const isFollowed = flag("follow", options.follow ?? true);
  const timeoutMs = delay("timeoutMs", options.timeoutMs ?? Number.POSITIVE_INFINITY, 0, true);
  options.signal?.throwIfAborted();
  for (let left = timeoutMs; ; ) {
    const { rows, isLast } = await pages(
      behind,
      isFollowed ? Math.min(left, EVENT_WAIT_MS) : undefined,
      options.signal,
    );
    for (const { position, topic, at, value } of rows) {
      behind = position;
      if (wanted === undefined || wanted === topic)
        yield { position, topic, at, value: value === null ? undefined : await decode(value) };
    }
    if (isLast) return;
    left = rows.length > 0 ? timeoutMs : left - EVENT_WAIT_MS;
    if (isFollowed && left <= 0) throw new FlowWaitTimeoutError(id, timeoutMs, "publish an event");
  }
}

/** Events that are read at once. */
const PAGE = 1_000;

/**
 * The events of a flow behind a position. With a wait: if there are none, those that come next; none when the time is over.
 *
 * @throws FlowNotFoundError
 */
export async function eventPage(
  store: Store,
  id: string,
  after: number,
  wait: EventWait | undefined,
): Promise<EventPage> {
  const topics =
    wait && watchTopics(store, [EVENT_TOPIC + id, END_TOPIC + id], wait.timeoutMs, wait.signal, wait.after);
  try {
    for (;;) {
      // The flow first: if it has ended by then, all of its events are there.
      const flow = await rowOf(store, id);
      const rows = await store.scan(events, { index: "flow", prefix: [flow.number], after, limit: PAGE });
      const isLast = rows.length < PAGE && (topics === undefined || isEnded(flow));
      if (rows.length > 0 || isLast) return { rows: await withValues(store, rows), isLast };
      if ((await topics?.next()) === "timeout") return { rows, isLast };
    }
  } finally {
    topics?.end();
  }
}
