// A fork: a new flow with the journal of another one up to a step, and the messages that the other one had not received by then.

import type { ValueCodec } from "../../host/payload/values.js";
import { OptionError } from "../../process/errors.js";
import type { Store, Write } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { resolved } from "../journal/blobs.js";
import { rowGets, rowIs } from "../journal/changes.js";
import { type Entry, encodeHead, type Stored } from "../journal/entry.js";
import { type FlowRow, flows, journal, type MailRow, mail, READY_TOPIC } from "../journal/tables.js";
import { FlowIdTakenError } from "../runtime/errors.js";
import { MESSAGE } from "../runtime/outgoing.js";
import type { FlowForkOptions } from "./operations.js";
import { cutBefore, doneAt } from "./rewind.js";

/** Most rows that one write set copies, and the length of their values at which it ends. */
const BATCH = 500;
const BATCH_LENGTH = 1 << 20;

interface Port {
  readonly store: Store;
  readonly payloads: ValueCodec;
}

interface Numbered {
  readonly position: number;
  readonly entry: Entry | Error;
}

/**
 * Copies a flow. The copy rests, with the request `fork`, until its journal and mail are whole: no host takes a copy of which a part is missing.
 *
 * @throws OptionError, FlowIdTakenError
 */
export async function forkFlow(
  { store, payloads }: Port,
  row: FlowRow,
  id: string,
  options: FlowForkOptions,
  source: AsyncIterable<Numbered>,
): Promise<void> {
  const { from } = options;
  const hasResult = "result" in options && options.result !== undefined;
  if (from === undefined && hasResult)
    throw new OptionError("result", options.result, "absent, or the result of the step that `from` names");
  if (from !== undefined && options.input !== undefined)
    throw new OptionError(
      "input",
      options.input,
      "absent, because what was done before `from` came from the old input",
    );
  const all = await entriesOf(source);
  const kept = from === undefined ? [] : keptEntries(all, from, hasResult);
  const unread = await unreadAt(store, row.number, all.slice(kept.length));
  if (hasResult) {
    const last = kept.pop() as Entry;
    const value = await payloads.encode(options.result, `the result of ${from}`, "result");
    kept.push({ ...last, decision: { type: "done", key: from as string, ok: true }, value });
  }
  const [own] = await resolved(store, [row.input]);
  const input =
    options.input === undefined
      ? own
      : await payloads.encode(options.input, `the input of flow ${id}`, "input");
  const now = await wholeClock(store);
  const copy = { ...rowOf(row, id, now), input: input ?? "" };
  const { results } = await store.commit({ writes: [{ type: "offer", table: flows, row: copy }] });
  const number = results[0] as number;
  if (number === 0) throw new FlowIdTakenError(id, "that exists", `${row.name} as a fork`);
  await copyRows(store, kept, (entry, seq, value) => insertOf(number, seq, { ...entry, value }));
  await copyRows(store, unread, (message, _, value) => mailOf(number, message, value as Stored));
  await store.commit({
    expect: [rowIs({ number }, { status: "paused", wish: "fork" })],
    writes: [
      {
        ...rowGets({ number }, { status: "waiting", wish: null, due: 0, updated: now }),
        add: { mail: unread.length },
      },
    ],
    notify: [READY_TOPIC + number],
  });
}

/**
 * The messages that a flow had not received before these entries, in their order. The mail of sessions is not among them: the other
 * side talks to the first flow.
 */
async function unreadAt(store: Store, flow: number, forgotten: readonly Entry[]): Promise<MailRow[]> {
  const received = forgotten.flatMap(({ decision }) =>
    decision.type === "done" && decision.mail !== undefined ? [decision.mail] : [],
  );
  const all: MailRow[] = [];
  for (let i = 0; i < received.length; i += BATCH) {
    const keys = received.slice(i, i + BATCH).map((position) => [position]);
    for (const row of await store.get(mail, keys)) if (row !== undefined) all.push(row);
  }
  for (let page: MailRow[] = [], after = -1; ; after = page.at(-1)?.position ?? after) {
    page = await store.scan(mail, { index: "unread", prefix: [flow], after, limit: BATCH });
    all.push(...page);
    if (page.length < BATCH) break;
  }
  return all
    .filter(({ topic }) => topic.startsWith(MESSAGE))
    .sort((one, other) => one.position - other.position);
}

function mailOf(flow: number, { id, topic, sender, at }: MailRow, value: Stored): Write {
  return { type: "insert", table: mail, row: { flow, id, topic, value, sender, unread: flow, at } };
}

/** Copies rows in batches. Large values are copied: those of the first flow go when it is removed. */
async function copyRows<R extends { readonly value: Stored | null }>(
  store: Store,
  rows: readonly R[],
  insert: (row: R, i: number, value: Stored | null) => Write,
): Promise<void> {
  let writes: Write[] = [];
  let length = 0;
  for (const [i, row] of rows.entries()) {
    const [value = null] = await resolved(store, [row.value]);
    writes.push(insert(row, i, value));
    length += value?.length ?? 0;
    if (writes.length < BATCH && length < BATCH_LENGTH && i < rows.length - 1) continue;
    await store.commit({ writes });
    writes = [];
    length = 0;
  }
}

function insertOf(flow: number, seq: number, { at, asks, decision, value }: Entry): Write {
  // The mail that this entry received is not copied: its value is in the entry.
  const own =
    decision.type === "done" ? { type: decision.type, key: decision.key, ok: decision.ok } : decision;
  return { type: "insert", table: journal, row: { flow, seq, head: encodeHead(at, asks, own), value } };
}

async function entriesOf(source: AsyncIterable<Numbered>): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const { entry } of source) {
    if (entry instanceof Error) throw entry;
    all.push(entry);
  }
  return all;
}

/** The entries before a step; with its own, if it keeps a result. @throws OptionError */
function keptEntries(all: readonly Entry[], from: string, withDone: boolean): Entry[] {
  const heads = all.map(({ decision, asks }) => ({
    position: 0,
    decision,
    asked: asks.map(({ key }) => key),
  }));
  const kept = all.slice(0, withDone ? doneAt(heads, from) + 1 : cutBefore(heads, from));
  checkWhole(kept, from);
  return kept;
}

/** A child or a session answers the flow that began it, and not its copy. @throws OptionError */
function checkWhole(kept: readonly Entry[], from: string): void {
  const open = new Map<string, string>();
  for (const { asks, decision } of kept) {
    for (const { kind, key } of asks) open.set(key, kind);
    if (decision.type === "done") open.delete(decision.key);
  }
  for (const [key, kind] of open)
    if (key !== from && (kind === "call" || kind === "session"))
      throw new OptionError(
        "from",
        from,
        `a step before ${kind} "${key}", which had begun: it answers the first flow alone`,
      );
}

function rowOf(row: FlowRow, id: string, now: number): Omit<FlowRow, "number"> {
  const { number: _, ...same } = row;
  return {
    ...same,
    request: null,
    id,
    status: "paused",
    wish: "fork",
    outcome: null,
    holder: null,
    epoch: 0,
    due: null,
    waiting: null,
    slot: null,
    debounce: null,
    mail: 0,
    crashes: 0,
    taken_at: 0,
    parent: null,
    parent_key: null,
    on_cancel: null,
    hospital: null,
    progress: null,
    heartbeats: null,
    created: now,
    updated: now,
    finished: null,
  };
}
