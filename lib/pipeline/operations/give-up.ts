// Gives messages and sources of an execution up: people end those that cannot go on, or shall not. A message that is given up is done and counted
// as dropped, and keeps its value for a replay; a source that is given up is closed. So giving up the last one completes the execution, as
// a host would.

import type { Store, Write } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { encodeEntry, type LineageEntry, type MessageChange } from "../ledger/lineage.js";
import { MessageRows } from "../ledger/message-rows.js";
import { restrand, strandedOf } from "../ledger/stranding.js";
import {
  type ExecutionRow,
  keptValues,
  lineage,
  type MessageRow,
  messages,
  outbox,
  sources,
} from "../ledger/tables.js";
import {
  type Changed,
  type ChangeSet,
  changeMessages,
  changesOf,
  commitChange,
  hasEnded,
  keyOf,
  type NextMessages,
  ofIds,
  ofQueues,
} from "./change-messages.js";
import type { GivenUp, GiveUpRequest } from "./change-options.js";
import { PipelineChangeError } from "./errors.js";

/** Sources of an execution that are read. */
const MOST_SOURCES = 10_000;
/** How often a source is tried that its host moves on at the same time. */
const ATTEMPTS = 100;

/**
 * Gives up what is asked for. Durable when it is fulfilled.
 *
 * @param routes - the routes of the execution by their queues, as far as they are known
 * @throws PipelineChangeError
 */
export async function giveUp(
  store: Store,
  execution: ExecutionRow,
  routes: ReadonlyMap<string, string>,
  { by, reason, of, limit }: GiveUpRequest,
): Promise<GivenUp> {
  const { number } = execution;
  const wanted = await wantedOf(store, execution, of);
  let closed = 0;
  // First: a closed source cannot fill a queue again.
  for (const name of wanted.sources) if (await closeSource(store, number, name, reason)) closed++;
  const setOf = (rows: readonly MessageRow[]): Promise<ChangeSet> =>
    dropped(store, rows, routes, { what: "given up", by, reason });
  let { count, more }: Changed = { count: 0, more: false };
  for (;;) {
    const some = await changeMessages(store, number, await wanted.next(), setOf, limit - count);
    count += some.count;
    more = some.more;
    // The children that a host made of messages meanwhile are in other queues.
    const isOver = !wanted.isAll || some.count === 0 || more || (await hasEnded(store, number));
    if (isOver) break;
  }
  await restrand(store, number);
  return { messages: count, sources: closed, more };
}

interface Wanted {
  readonly sources: readonly string[];
  readonly isAll: boolean;
  next(): Promise<NextMessages>;
}

async function wantedOf(store: Store, execution: ExecutionRow, of: GiveUpRequest["of"]): Promise<Wanted> {
  const open = await openSources(store, execution);
  const everything: Wanted = {
    sources: open,
    isAll: true,
    next: async () => ofQueues(store, execution, await liveQueues(store, execution)),
  };
  switch (of.type) {
    case "all":
      return everything;
    case "messages": {
      await allLive(store, execution, of.ids);
      const next = ofIds(store, execution, of.ids, () => true);
      return { sources: [], isAll: false, next: async () => next };
    }
    case "named":
      for (const name of of.sources)
        if (!open.includes(name))
          throw new PipelineChangeError(execution.id, `no source ${name} of it is open`);
      return named(store, execution, of.queues, of.sources);
    case "stranded": {
      const missing = strandedOf(execution) ?? [];
      const parts = (part: string): string[] =>
        missing.filter((one) => one.part === part).map(({ name }) => name);
      // Without its definition nothing of it can go on.
      if (missing.some(({ part }) => part !== "queue" && part !== "source")) return everything;
      const gone = parts("source").filter((name) => open.includes(name));
      return named(store, execution, parts("queue"), gone);
    }
    default:
      return of satisfies never;
  }
}

function named(
  store: Store,
  execution: ExecutionRow,
  queues: readonly string[],
  gone: readonly string[],
): Wanted {
  return { sources: gone, isAll: false, next: async () => ofQueues(store, execution, queues) };
}

async function liveQueues(store: Store, { number }: ExecutionRow): Promise<readonly string[]> {
  return (await new MessageRows(store, number).queues()).live;
}

async function openSources(store: Store, { number, ended }: ExecutionRow): Promise<string[]> {
  if (ended !== null) return [];
  const rows = await store.scan(sources, { prefix: [number], limit: MOST_SOURCES });
  return rows.filter(({ open }) => open === 1).map(({ name }) => name);
}

/** @throws PipelineChangeError when a message is in no queue */
export async function allLive(
  store: Store,
  { id, number, ended }: ExecutionRow,
  ids: readonly string[],
): Promise<void> {
  if (ended !== null) return;
  const found = await new MessageRows(store, number).of(ids);
  const gone = ids.filter((_, i) => found[i]?.live === undefined);
  if (gone.length > 0)
    throw new PipelineChangeError(
      id,
      `${gone.length} of ${ids.length} messages are in no queue: ${gone.slice(0, MOST_SHOWN).join(", ")}${gone.length > MOST_SHOWN ? ", …" : ""}`,
    );
}

/** Messages that an error names. */
const MOST_SHOWN = 5;

/** False: it was closed before, or the execution has ended. */
async function closeSource(store: Store, scope: number, name: string, reason: string): Promise<boolean> {
  const key = [scope, name];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const done = await commitChange(store, scope, {
      expect: [{ table: sources, key, is: { open: 1 } }],
      writes: [{ type: "update", table: sources, key, set: { open: 0, holder: null, dropped: reason } }],
      add: { pending: -1 },
    });
    if (done === "done") return true;
    const [row] = await store.get(sources, [key]);
    if (row?.open !== 1 || (await hasEnded(store, scope))) return false;
  }
  return false;
}

async function dropped(
  store: Store,
  rows: readonly MessageRow[],
  routes: ReadonlyMap<string, string>,
  as: Omit<MessageChange, "at" | "queue">,
): Promise<ChangeSet> {
  const at = await wholeClock(store);
  const writes = rows.flatMap((row): Write[] => {
    const { scope, queue, id, body, tag } = row;
    const key = keyOf(row);
    const entry = encodeEntry(entryOf(row, routes.get(queue) ?? "", { ...as, at, queue }));
    return [
      { type: "delete", table: messages, key },
      { type: "delete", table: outbox, key },
      { type: "put", table: lineage, row: { scope, id, entry } },
      { type: "put", table: keptValues, row: { scope, queue, id, body, ...(tag !== null && { tag }) } },
    ];
  });
  const { length } = rows;
  return { expect: [], writes, add: { pending: -length, done: length, dropped: length } };
}

function entryOf(row: MessageRow, route: string, change: MessageChange): LineageEntry {
  const errors = JSON.parse(row.history ?? "[]") as string[];
  return {
    id: row.id,
    route,
    status: "dropped",
    attempt: row.attempts ?? 0,
    calls: [],
    children: 0,
    ...(errors.length > 0 && { errors }),
    changes: [...changesOf(row), change],
  };
}
