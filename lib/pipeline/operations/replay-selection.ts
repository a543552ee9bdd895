// The messages of a replay, as rows of the execution that is replayed, page by page from any place on.

import type { Store } from "../../store/index.js";
import type { MessageId } from "../definition/message-id.js";
import type { Body } from "../ledger/live-message.js";
import { MessageRows } from "../ledger/message-rows.js";
import {
  type DeadLetterRow,
  type DeadRecordRow,
  deadLetters,
  deadRecords,
  keptValues,
  messages,
} from "../ledger/tables.js";
import type { Deed } from "../messages/dead-options.js";
import { ReplayError } from "./errors.js";

/**
 * Rows that belong to a replay: what was kept of settled messages, dead letters, dead letters that were replayed before, what was left in a
 * queue, or one message by its id.
 */
export type ReplayPart =
  | { readonly type: "kept" | "dead" | "replayed" | "left"; readonly queue: string }
  | { readonly type: "message"; readonly id: MessageId };

/** Where a replay is: everything before is in the new execution. As JSON in the row of its source. */
export interface ReplayPlace {
  /** The number of the execution that is replayed. */
  readonly of: number;
  /** The number of the replay's messages in their ids. */
  readonly source: number;
  readonly parts: readonly ReplayPart[];
  /** The part that comes next. */
  readonly part: number;
  /** The message of that part behind which it goes on, and its lane. */
  readonly after?: { readonly lane: number; readonly id: MessageId };
  /** Author and reason of the replay. Absent in a replay that an older program began. */
  readonly deed?: Deed;
  /** Messages by their ids may have been replayed before. */
  readonly again?: boolean;
}

/** A message as it is copied: it is not decoded. */
export interface Copied {
  readonly queue: string;
  readonly body: Body;
  readonly key: string | undefined;
  /** The dead letter that it is copied from, which leaves the dead ones with the copy. */
  readonly letter?: DeadLetterRow;
  /** The record of the dead letter that it is copied from once more. */
  readonly record?: DeadRecordRow;
}

/** The next messages, and the place behind them. None: there are no more. */
export async function nextPage(
  store: Store,
  place: ReplayPlace,
  limit: number,
): Promise<{ readonly copied: readonly Copied[]; readonly place: ReplayPlace }> {
  const copied: Copied[] = [];
  let at = place;
  while (copied.length < limit) {
    const part = at.parts[at.part];
    if (part === undefined) break;
    const room = limit - copied.length;
    if (part.type === "message") {
      const one = await oneOf(store, at, part.id);
      if (one !== undefined) copied.push(one);
      at = behindPart(at);
      continue;
    }
    const rows = await rowsOf(store, at, part, room);
    copied.push(...rows.map((row) => copiedOf(row, part.type)));
    const last = rows.at(-1);
    at = last === undefined ? behindPart(at) : { ...at, after: { lane: last.lane ?? 0, id: last.id } };
  }
  return { copied, place: at };
}

function behindPart({ after: _, ...place }: ReplayPlace): ReplayPlace {
  return { ...place, part: place.part + 1 };
}

function copiedOf(row: FoundRow, type: ReplayPart["type"]): Copied {
  const { queue, body, tag } = row;
  return {
    queue,
    body,
    key: tag ?? undefined,
    ...(type === "dead" && { letter: row as DeadLetterRow }),
    ...(type === "replayed" && { record: row as DeadRecordRow }),
  };
}

/** Undefined: another caller has changed the dead letter since the replay began. */
async function oneOf(store: Store, { of, again }: ReplayPlace, id: MessageId): Promise<Copied | undefined> {
  const [one] = await valuesOf(store, of, [id], again === true);
  if (one !== undefined || (await new MessageRows(store, of).records([id])).has(id)) return one;
  // It was there when the replay began: the execution was removed, or summed up.
  throw new ReplayError(String(of), `the value of ${id} is not there any more`);
}

interface FoundRow {
  readonly queue: string;
  readonly id: MessageId;
  readonly body: Body;
  readonly tag: string | null;
  readonly lane?: number;
}

async function rowsOf(
  store: Store,
  { of, after }: ReplayPlace,
  { type, queue }: Extract<ReplayPart, { queue: string }>,
  limit: number,
): Promise<readonly FoundRow[]> {
  const bounds = after === undefined ? {} : { after: after.id };
  if (type === "kept") return store.scan(keptValues, { prefix: [of, queue], ...bounds, limit });
  if (type === "replayed") {
    const index = { index: "fate", prefix: [of, queue, "replayed"] };
    return store.scan(deadRecords, { ...index, ...bounds, limit });
  }
  if (type === "dead") return store.scan(deadLetters, { prefix: [of, queue], ...bounds, limit });
  if (after === undefined) return store.scan(messages, { prefix: [of, queue], limit });
  // The rest of the lane first, then the lanes behind it.
  const same = await store.scan(messages, { prefix: [of, queue, after.lane], ...bounds, limit });
  if (same.length > 0) return same;
  return store.scan(messages, { prefix: [of, queue], after: after.lane, limit });
}

/**
 * The values of messages, undefined where there is none any more.
 *
 * @param again - also those of dead letters that were replayed
 */
export async function valuesOf(
  store: Store,
  scope: number,
  ids: readonly MessageId[],
  again: boolean,
): Promise<(Copied | undefined)[]> {
  const rows = new MessageRows(store, scope);
  const found = await rows.of(ids);
  const kept = await rows.kept(ids);
  return found.map(({ live, dead, record }, i) => {
    const row = live ?? kept.get(ids[i] as MessageId);
    if (row !== undefined) return copiedOf(row, "message");
    if (dead !== undefined) return copiedOf(dead, "dead");
    return again && record?.fate === "replayed" ? copiedOf(record, "replayed") : undefined;
  });
}
