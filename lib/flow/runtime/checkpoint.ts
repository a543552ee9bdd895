// Checkpoints: the write sets of a flow. Facts go in with the outcome that they belong to, so both are durable or neither is.

import type { Claim, Write, WriteSet } from "../../store/index.js";
import { type BlobWriter, releaseAll } from "../journal/blobs.js";
import { type Ask, encodeHead, type Stored } from "../journal/entry.js";
import { END_TOPIC, type FlowRow, flows, journal, MAIL_TOPIC, mail, READY_TOPIC } from "../journal/tables.js";
import type { Ending, Item } from "../machine/state.js";
import { roomTopics } from "../queues/queues.js";
import type { Call, Extra } from "./call.js";

/** The topic of the mail that notifies a parent of the end of a child. */
export const childTopic = (key: string): string => `child/${key}`;

const NO_ASKS: readonly Ask[] = [];

/** What a checkpoint is made of. */
export interface Checkpoint {
  readonly row: FlowRow;
  /** Others wait for word of the flow's end: a host looks at it once more after the end. */
  readonly owes: boolean;
  readonly blobs: BlobWriter;
  readonly at: number;
  readonly seq: number;
  readonly items: readonly Item[];
  readonly asks: readonly Ask[];
  readonly calls: ReadonlyMap<string, Call>;
  readonly progress: { readonly stored: Stored } | undefined;
  /** The steps that made the heartbeats in the row have ended. */
  readonly isBeatless?: boolean;
  /** The claim that fences the write set. */
  readonly claim?: Claim | undefined;
}

type Parts = { writes: Write[]; notify: string[]; extras: Extra[] };

function partsOf({ row, blobs, at, seq, items, asks, calls, progress, isBeatless }: Checkpoint): Parts {
  const { number } = row;
  const parts: Parts = { writes: [], notify: [], extras: [] };
  const { writes, extras } = parts;
  for (let i = 0; i < items.length; i++) {
    const { decision, value } = items[i] as Item;
    const head = encodeHead(at, i === 0 ? asks : NO_ASKS, decision);
    const kept = value === null ? null : blobs.split(value, `journal/${number}`, writes);
    writes.push({ type: "insert", table: journal, row: { flow: number, seq: seq + i, head, value: kept } });
    if (decision.type === "cancelled") continue;
    if (decision.type === "done" && decision.mail !== undefined)
      writes.push({ type: "update", table: mail, key: [decision.mail], set: { unread: null } });
    const extra = calls.get(decision.key)?.extra;
    if (extra !== undefined && decision.type !== "failed") extras.push(extra);
  }
  if (progress !== undefined)
    writes.push({
      type: "update",
      table: flows,
      key: [number],
      set: { progress: progress.stored, updated: at },
    });
  if (isBeatless) writes.push({ type: "update", table: flows, key: [number], set: { heartbeats: null } });
  return parts;
}

function setOf({ writes, notify, extras }: Parts, claim: Claim | undefined): WriteSet {
  if (extras.length === 0 && notify.length === 0) return claim === undefined ? { writes } : { writes, claim };
  const fenced = claim === undefined ? {} : { claim };
  if (extras.length === 0) return { writes, notify, ...fenced };
  return {
    ...fenced,
    writes: [...writes, ...extras.flatMap((extra) => extra.writes)],
    expect: extras.flatMap(({ expect }) => expect ?? []),
    notify: [...notify, ...extras.flatMap((extra) => extra.notify ?? [])],
  };
}

/** The journal grows. */
export function entriesSet(checkpoint: Checkpoint): WriteSet {
  return setOf(partsOf(checkpoint), checkpoint.claim);
}

/**
 * The flow ends: its last entries, its outcome, and the mail to its parent; or it starts anew.
 *
 * @param nextTrace - the trace of a flow that starts anew
 */
export function endSet(checkpoint: Checkpoint, ending: Ending, nextTrace?: string): WriteSet {
  const parts = partsOf(checkpoint);
  const { row, owes, blobs, at } = checkpoint;
  const { number, id, parent, parent_key: key } = row;
  if (ending.again !== undefined) {
    parts.notify.push(READY_TOPIC + number);
    parts.writes.push(
      { type: "clear", table: journal, index: "flow", prefix: [number] },
      releaseAll(`journal/${number}`),
      releaseAll(`input/${id}`),
    );
    const input = blobs.split(ending.again, `input/${id}`, parts.writes);
    parts.writes.push({
      type: "update",
      table: flows,
      key: [number],
      set: restarted(row, at, input, nextTrace),
    });
    return setOf(parts, checkpoint.claim);
  }
  const { status, value, note } = ending;
  const outcome = blobs.split(value, `journal/${number}`, parts.writes);
  // A letter that the flow has not seen has set `due`: it may ask for a session, and is answered when the host looks.
  const gone = { holder: null, wish: null, ...(owes && { due: 0 }) };
  const set = { status, outcome, finished: at, updated: at, ...gone, ...left(row) };
  parts.writes.push({ type: "update", table: flows, key: [number], set });
  parts.notify.push(END_TOPIC + id, ...roomTopics(row));
  if (owes) parts.notify.push(READY_TOPIC + number);
  if (parent !== null && key !== null) {
    parts.writes.push(...letter(parent, `end/${number}`, childTopic(key), note ?? null, id, at));
    parts.notify.push(MAIL_TOPIC + parent);
  }
  return setOf(parts, checkpoint.claim);
}

/** Clears the slot and the waits of a flow. A column that is not named costs neither a look at its index nor a change of it. */
function left({ queue, debounce }: FlowRow): Record<string, null> {
  return {
    ...(queue !== null && { slot: null, waiting: null }),
    ...(debounce !== null && { debounce: null }),
  };
}

function restarted(
  { generation }: FlowRow,
  at: number,
  input: Stored,
  trace: string | null = null,
): Record<string, Stored | number> {
  return {
    input,
    trace,
    generation: generation + 1,
    holder: null,
    status: "pending",
    due: 0,
    taken_at: 0,
    heartbeats: null,
    updated: at,
  };
}

/**
 * A letter to a flow, by its number: the mail, the counter that keeps the flow from leaving memory unseen, and the time at which a
 * flow that has left it is looked at.
 */
export function letter(
  number: number,
  id: string,
  topic: string,
  value: Stored,
  sender: string | null,
  at: number,
): Write[] {
  return [
    { type: "offer", table: mail, row: { flow: number, id, topic, value, sender, unread: number, at } },
    { type: "update", table: flows, key: [number], set: { due: 0 }, add: { mail: 1 } },
  ];
}
