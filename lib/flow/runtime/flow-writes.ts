// What a flow writes: the entries of its journal and its end, one set at a time, other columns of its row beside them; and with `verify`, the
// replay of all that was written.

import type { Claim, Store, Write, WriteSet } from "../../store/index.js";
import type { Ask } from "../journal/entry.js";
import type { Ending, Item } from "../machine/state.js";
import { type Checkpoint, endSet, entriesSet } from "./checkpoint.js";
import type { FlowLife } from "./flow-life.js";

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
    owes: life.owes,
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
  const last = checkpoint(life, seq, items, asks, life.port.claim);
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

/** The end is written once all of the journal before it was read back. */
export async function finish(life: FlowLife, set: WriteSet): Promise<void> {
  await life.verified;
  if (life.ctx.alive && (await isAsRecorded(life, undefined))) submit(life, set);
}

/** The keys of asks that have their outcome. */
function endedSteps(items: readonly Item[]): readonly string[] {
  return items.flatMap(({ decision }) => (decision.type === "done" ? [decision.key] : []));
}
