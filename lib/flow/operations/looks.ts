// What pages look at again and again, once or more a second: each look reads a bounded part of the store.
//
//     timeline    the row of the flow, `limit` entries of its journal from the end, the values of those that are errors, 100 children, 100 messages
//     counts      an index of flows, up to 10,000 of each status
//     queueKeys   the first flow of each key that waits or runs, and an index of flows, as far as the caller says

import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { showThrown } from "../../process/show.js";
import type { Store } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { decodeEntry, type Entry, type Stored } from "../journal/entry.js";
import { type FlowRow, flows, isEnded, journal, mail } from "../journal/tables.js";
import { asideOf } from "./aside.js";
import { messageOf } from "./flow-view.js";
import {
  FLOW_STATUSES,
  type FlowCounts,
  type FlowStatus,
  type FlowSummary,
  type FlowTimeline,
  type FlowTimelineOptions,
} from "./operations.js";
import { type HeldAsk, type ReadEntry, type TimelineItem, timelineOf } from "./timeline.js";

/** The limits of looks. */
export const LOOK_LIMITS: {
  /** Most entries of a journal that a timeline reads. */
  readonly entries: number;
  /** Entries that it reads if nothing else is said. */
  readonly usualEntries: number;
  readonly mail: number;
  readonly children: number;
  /** Counting ends here. */
  readonly counted: number;
  /** Most keys of a queue that are read. */
  readonly keys: number;
  /** Keys that are read if nothing else is said. */
  readonly usualKeys: number;
  /** Most characters of an error. */
  readonly errorLength: number;
} = {
  ...{ entries: 1_000, usualEntries: 200, mail: 100, children: 100, counted: 10_000 },
  ...{ keys: 100, usualKeys: 50, errorLength: 500 },
};

/** What a timeline needs beside the store. */
export interface TimelinePort {
  readonly store: Store;
  /** A value for people; of one that cannot be read, the error that says so. */
  shown(stored: Stored): Promise<unknown>;
  summaries(rows: readonly FlowRow[]): Promise<readonly FlowSummary[]>;
  /** What the code of a flow waits for, if a host in this program holds it. */
  held(row: FlowRow): readonly HeldAsk[];
}

/** The timeline of a flow. @throws OptionError */
export async function readTimeline(
  port: TimelinePort,
  row: FlowRow,
  options: FlowTimelineOptions,
): Promise<FlowTimeline> {
  const { store } = port;
  const limit = limitOf(options);
  const { number } = row;
  // One more: it says when the first of the others was asked for.
  const tail = { index: "flow", prefix: [number], reverse: true, limit: limit + 1 };
  const unread = { index: "unread", prefix: [number], limit: LOOK_LIMITS.mail };
  const born = { index: "parent", prefix: [number], limit: LOOK_LIMITS.children };
  const [at, rows, messages, children] = await Promise.all([
    wholeClock(store),
    store.scan(journal, tail),
    store.scan(mail, unread),
    store.scan(flows, born),
  ]);
  const isCut = rows.length > limit;
  const entries = await Promise.all(rows.reverse().map((one) => readEntry(port, one)));
  const before = isCut ? entries[0]?.entry : undefined;
  const since = isCut ? (before instanceof Error ? undefined : before?.at) : beganAt(row);
  const held = isEnded(row) ? [] : port.held(row);
  const items = timelineOf(isCut ? entries.slice(1) : entries, since, held);
  const ids = new Map(children.map(({ parent_key: key, id }) => [key, id]));
  const aside = asideOf(row);
  const [[summary], shown] = await Promise.all([port.summaries([row]), port.summaries(children)]);
  return {
    flow: summary as FlowSummary,
    at,
    generation: row.generation,
    ...(row.holder !== null && { holder: row.holder }),
    items: items.map((item): TimelineItem => {
      const child = ids.get(item.key);
      return child === undefined ? item : { ...item, child };
    }),
    isCut,
    mail: messages.map(messageOf),
    children: shown,
    ...(row.progress !== null && { progress: await port.shown(row.progress) }),
    ...(row.heartbeats !== null && !isEnded(row) && { heartbeats: await port.shown(row.heartbeats) }),
    ...(aside !== undefined && { aside }),
  };
}

function limitOf(options: FlowTimelineOptions): number {
  only("", options, ["limit"]);
  return Math.min(count("limit", options.limit ?? LOOK_LIMITS.usualEntries, 1), LOOK_LIMITS.entries);
}

/** When the code of a flow began its journal; undefined if it was begun anew since its start, at a time that no row has. */
function beganAt({ generation, created }: FlowRow): number | undefined {
  return generation === 0 ? created : undefined;
}

async function readEntry(
  port: TimelinePort,
  { seq, head, value }: { readonly seq: number; readonly head: string; readonly value: Stored },
): Promise<ReadEntry> {
  let entry: Entry;
  try {
    entry = decodeEntry(head, value);
  } catch (error) {
    return { seq, entry: error as Error };
  }
  const { decision } = entry;
  const isError = decision.type === "failed" || (decision.type === "done" && !decision.ok);
  if (!isError || value === null) return { seq, entry };
  const shown = showThrown(await port.shown(value)).split("\n", 1)[0] as string;
  return { seq, entry, error: shown.slice(0, LOOK_LIMITS.errorLength) };
}

/** How many flows there are of each status, as far as a look counts. */
export async function readCounts(store: Store): Promise<FlowCounts> {
  const { counted: atMost } = LOOK_LIMITS;
  const found = await Promise.all(
    FLOW_STATUSES.map((status) => store.count(flows, { index: "status", prefix: [status], atMost })),
  );
  const counts = Object.fromEntries(FLOW_STATUSES.map((status, i) => [status, found[i] as number])) as Record<
    FlowStatus,
    number
  >;
  return { counts, atMost };
}
