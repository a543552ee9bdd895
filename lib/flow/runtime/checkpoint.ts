// The writes of a flow: checkpoints and its end, one set at a time, other columns of its row beside them; and with `verify`, the replay of all
// that was written. Facts go in with the outcome that they belong to, so both are durable or neither is.

import type { ValueCodec } from "../../host/payload/values.js";
import type { Claim, Store, Write, WriteSet } from "../../store/index.js";
import { type BlobWriter, releaseAll } from "../journal/blobs.js";
import { type FlowWrites, joined, rowGets } from "../journal/changes.js";
import { type Ask, encodeHead, type Stored } from "../journal/entry.js";
import { END_TOPIC, type FlowRow, journal, MAIL_TOPIC, mail, READY_TOPIC } from "../journal/tables.js";
import type { Ending, Item } from "../machine/state.js";
import { freeSlotTopics } from "../queues/queues.js";
import type { Call } from "./flow-call.js";
import type { FlowLife } from "./flow-life.js";

/** The topic of the mail that notifies a parent of the end of a child. */
export const childTopic = (key: string): string => `child/${key}`;

const NO_ASKS: readonly Ask[] = [];

/** The parts of a checkpoint. */
export interface Checkpoint {
  readonly row: FlowRow;
  /** Of an end: others wait for word of it, so a host looks at the flow once more. */
  readonly owes?: boolean;
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

type Parts = { readonly writes: Write[]; readonly extras: readonly FlowWrites[] };
const NO_EXTRAS: readonly FlowWrites[] = [];
const NO_TOPICS: readonly string[] = [];

function partsOf({ row, blobs, at, seq, items, asks, calls, progress, isBeatless }: Checkpoint): Parts {
  const { number } = row;
  let writes: Write[] = [];
  let extras = NO_EXTRAS;
  for (let i = 0; i < items.length; i++) {
    const { decision, value } = items[i] as Item;
    const head = encodeHead(at, i === 0 ? asks : NO_ASKS, decision);
    const kept = value === null ? null : blobs.split(value, `journal/${number}`, writes);
    const entry: Write = {
      type: "insert",
      table: journal,
      row: { flow: number, seq: seq + i, head, value: kept },
    };
    // Mostly it is the only one: a push to an empty list reserves seventeen places.
    if (writes.length === 0) writes = [entry];
    else writes.push(entry);
    if (decision.type === "cancelled") continue;
    if (decision.type === "done" && decision.mail !== undefined)
      writes.push({ type: "update", table: mail, key: [decision.mail], set: { unread: null } });
    const extra = calls.get(decision.key)?.extra;
    if (extra !== undefined && decision.type !== "failed") extras = [...extras, extra];
  }
  if (progress !== undefined) writes.push(rowGets(row, { progress: progress.stored, updated: at }));
  if (isBeatless) writes.push(rowGets(row, { heartbeats: null }));
  return { writes, extras };
}

function setOf({ writes, extras }: Parts, notify: readonly string[], claim: Claim | undefined): WriteSet {
  if (extras.length === 0 && notify.length === 0) return claim === undefined ? { writes } : { writes, claim };
  const fenced = claim === undefined ? {} : { claim };
  if (extras.length === 0) return { writes, notify, ...fenced };
  return { ...fenced, ...joined([{ writes, notify }, ...extras]) };
}

/** The journal grows. */
export function entriesSet(checkpoint: Checkpoint): WriteSet {
  return setOf(partsOf(checkpoint), NO_TOPICS, checkpoint.claim);
}

/**
 * The flow ends: its last entries, its outcome, and the mail to its parent; or it starts anew.
 *
 * @param nextTrace - the trace of a flow that starts anew
 */
function endSet(checkpoint: Checkpoint, ending: Ending, nextTrace?: string): WriteSet {
  const parts = partsOf(checkpoint);
  const { row, owes, blobs, at } = checkpoint;
  const { number, id, parent, parent_key: key } = row;
  if (ending.again !== undefined) {
    parts.writes.push(
      { type: "clear", table: journal, index: "flow", prefix: [number] },
      releaseAll(`journal/${number}`),
      releaseAll(`input/${id}`),
    );
    const input = blobs.split(ending.again, `input/${id}`, parts.writes);
    parts.writes.push(rowGets(row, restarted(row, at, input, nextTrace)));
    return setOf(parts, [READY_TOPIC + number], checkpoint.claim);
  }
  const { status, value, note } = ending;
  const outcome = blobs.split(value, `journal/${number}`, parts.writes);
  // A message that the flow has not seen has set `due`: it may ask for a session, and is answered when the host looks.
  const gone = { holder: null, wish: null, ...(owes && { due: 0 }) };
  const set = { status, outcome, finished: at, updated: at, ...gone, ...left(row) };
  parts.writes.push(rowGets(row, set));
  const notify = [END_TOPIC + id, ...freeSlotTopics(row)];
  if (owes) notify.push(READY_TOPIC + number);
  if (parent !== null && key !== null) {
    parts.writes.push(...mailWrites(parent, `end/${number}`, childTopic(key), note ?? null, id, at));
    notify.push(MAIL_TOPIC + parent);
  }
  return setOf(parts, notify, checkpoint.claim);
}

/** The end of a flow whose code does not run. A host notifies the peers of its sessions. */
export function bareEnd(row: FlowRow, blobs: BlobWriter, at: number, ending: Ending): WriteSet {
  const nothing = { seq: 0, items: [], asks: [], calls: new Map(), progress: undefined };
  return endSet({ row, owes: true, blobs, at, ...nothing }, ending);
}

/** The content of the mail with a child's end. */
export interface ChildEnd {
  readonly status: "completed" | "failed" | "cancelled" | "killed";
  readonly value: unknown;
}

/** The note for the parent of a flow that has ended. @param what - names the end in errors */
export async function noteOf(
  payloads: ValueCodec,
  status: ChildEnd["status"],
  value: Stored,
  what: string,
): Promise<Stored> {
  const end: ChildEnd = { status, value: await payloads.decode(value) };
  return payloads.encode(end, what, "result");
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
 * The writes of a message to a flow, by its number: the mail, the counter that keeps the flow from leaving memory unseen, and the time at which a
 * flow that has left it is looked at.
 */
export function mailWrites(
  number: number,
  id: string,
  topic: string,
  value: Stored,
  sender: string | null,
  at: number,
): Write[] {
  return [
    { type: "offer", table: mail, row: { flow: number, id, topic, value, sender, unread: number, at } },
    { ...rowGets({ number }, { due: 0, updated: at }), add: { mail: 1 } },
  ];
}

/**
 * A checkpoint of these entries.
 *
 * @param claim - absent where the transaction has it
 */
export function checkpoint(
  life: FlowLife,
  seq: number,
  items: readonly Item[],
  asks: readonly Ask[],
  claim?: Claim,
): Checkpoint {
  const progress = life.progress;
  life.progress = undefined;
  life.writtenAt = life.port.now();
  if (life.port.readBack !== undefined)
    for (const [i, { decision, value }] of items.entries())
      life.kept.push({ at: life.writtenAt, asks: i === 0 ? asks : [], decision, value });
  return {
    row: life.row,
    blobs: life.port.blobs,
    at: life.writtenAt,
    seq,
    items,
    asks,
    calls: life.calls,
    progress,
    isBeatless: life.heartbeats?.isEmpty === false && life.heartbeats.ended(endedSteps(items)),
    claim,
  };
}

/** The last checkpoint, with the end of the flow. */
export function endingSet(
  life: FlowLife,
  seq: number,
  items: readonly Item[],
  asks: readonly Ask[],
  ending: Ending,
): WriteSet {
  const last = { ...checkpoint(life, seq, items, asks, life.port.claim), owes: life.owes };
  if (ending.again === undefined) return endSet(last, ending);
  const { name, trace } = life.row;
  const { taps } = life.port.kernel;
  // It may begin anew for years, so each generation has a trace of its own.
  const next = taps?.continuing(null, () => taps.flowStarting(name, life.flowId, trace));
  return endSet(last, ending, next);
}

/** A write of the journal: `stored` or `refused` follows. */
export function submit(life: FlowLife, set: WriteSet): void {
  hand(life, set, life.stored);
}

/** Submits a write set. A set that the store refuses at once gets no answer, and the flow waits for none. */
function hand(life: FlowLife, set: WriteSet, settled: Parameters<Store["submit"]>[1]): void {
  life.unanswered++;
  try {
    life.port.store.submit(set, settled);
  } catch (error) {
    life.answered();
    throw error;
  }
}

/** A write outside of the journal. */
export function submitAside(life: FlowLife, write: Write, written: () => void = () => undefined): void {
  hand(life, { writes: [write], claim: life.port.claim }, (error) => {
    if (error === undefined) written();
    else life.tell({ type: "stored", error });
    life.answered();
  });
}

/** Gives a transaction that waits for its turn what it commits. */
export function transact(life: FlowLife, key: string, seq: number, asks: readonly Ask[]): void {
  const call = life.calls.get(key);
  const value = call?.encoded ?? null;
  const { grant } = call ?? {};
  grant?.(entriesSet(checkpoint(life, seq, [{ decision: { type: "done", key, ok: true }, value }], asks)));
}

/** Reads the journal back: the code, run over it anew, must take the same way. */
export function verify(life: FlowLife): void {
  if (life.verified === undefined) life.verified = readBack(life);
  else life.hasGrown = true;
}

async function readBack(life: FlowLife): Promise<void> {
  do {
    life.hasGrown = false;
    if (!(await isAsRecorded(life, life.readBacks++))) return;
  } while (life.hasGrown);
  life.verified = undefined;
}

/** @param time - how many replays were before; undefined: it is the last, and done in all ways */
async function isAsRecorded(life: FlowLife, time: number | undefined): Promise<boolean> {
  const error = await life.port.readBack?.(life.definition, life.row, [...life.kept], time);
  if (life.ctx.alive && error !== undefined) life.fail(error);
  return life.ctx.alive;
}

/** Writes the end: with `verify`, once all of the journal before it was read back. */
export function finish(life: FlowLife, set: WriteSet): void {
  if (life.port.readBack === undefined) submit(life, set);
  else void finishVerified(life, set);
}

async function finishVerified(life: FlowLife, set: WriteSet): Promise<void> {
  await life.verified;
  if (life.ctx.alive && (await isAsRecorded(life, undefined))) submit(life, set);
}

/** The keys of asks that have their outcome. */
function endedSteps(items: readonly Item[]): readonly string[] {
  return items.flatMap(({ decision }) => (decision.type === "done" ? [decision.key] : []));
}
