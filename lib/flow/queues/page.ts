// Pages of a queue: what a host reads of the store to decide which waiting flows start, and the write set that starts them.

import type { Store, WriteSet } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { type FlowRow, flows } from "../journal/tables.js";
import { type Candidate, NO_USE, type QueueLimits, type Rate, type Use } from "./choice.js";
import { type PageEnd, QUEUE_PAGE, type Turns, type View } from "./queue-machine.js";
import { gates, starts } from "./tables.js";

/**
 * The start of a flow that was just admitted: later than any time that a clock shows. Only a clock that is read after the commit of the
 * admission gives a time at which it has taken place. Until such a time is noted, the start counts as one of now.
 */
const NOT_NOTED_MS = 8.64e15;

/** Most flows of one key that a page begins with: others come first that they may take turns. */
const PER_LANE = 16;

/** Whether this host has the code of a flow. */
export type Accepts = (row: FlowRow) => boolean;

/** A page, and the starts that have left the longest period. */
export interface Page {
  readonly view: View;
  readonly expired: readonly number[];
}

/**
 * Reads a page of a queue. It reads the version first: an admission in the meantime raises the version, and all other changes only
 * make room.
 */
export async function readPage(
  store: Store,
  queue: string,
  limits: QueueLimits,
  from: PageEnd | undefined,
  turns: Turns,
  accepts: Accepts = () => true,
): Promise<Page> {
  const [gate] = await store.get(gates, [[queue]]);
  await noteStarts(store, queue, limits);
  const now = await wholeClock(store);
  const [use, expired, { candidates, next }] = await Promise.all([
    useOf(store, queue, undefined, limits.concurrency, limits.rate, now),
    expiredOf(store, queue, limits, now),
    sweep(store, queue, from, turns, accepts),
  ]);
  const keys = [...new Set(candidates.map(({ lane }) => lane))];
  const uses = await Promise.all(
    keys.map((lane) => useOf(store, queue, lane, limits.perKey, limits.keyRate, now)),
  );
  const lanes = new Map(keys.map((lane, i) => [lane, uses[i] as Use]));
  return { view: { now, version: gate?.version ?? 0, use, lanes, candidates, next }, expired };
}

/**
 * Notes when the flows started that were admitted since: a time by the clock of the store that is not before their commit. So a period
 * that follows holds none of them too few. Starts that lie ahead because the clock was set back count as starts of now, too.
 */
export async function noteStarts(
  store: Store,
  queue: string,
  { rate, keyRate }: Pick<QueueLimits, "rate" | "keyRate">,
): Promise<void> {
  if (rate === undefined && keyRate === undefined) return;
  const after = await wholeClock(store);
  const ahead = await store.scan(starts, { index: "queue", prefix: [queue], after });
  if (ahead.length === 0) return;
  // Read again: one of them may have been admitted after the first reading.
  const at = Math.ceil(await store.clock());
  const writes = ahead.map(({ number }) => ({
    type: "update" as const,
    table: starts,
    key: [number],
    set: { at },
  }));
  await store.commit({ writes });
}

/** Gives flows a slot, if no host has admitted others since, and they still wait. */
export function admission(
  queue: string,
  { rate, keyRate }: QueueLimits,
  {
    flows: chosen,
    version,
    now,
  }: { readonly flows: readonly Candidate[]; readonly version: number; readonly now: number },
  token: number,
  expired: readonly number[],
): WriteSet {
  const set = {
    waiting: null,
    slot: queue,
    debounce: null,
    status: "running",
    holder: token,
    due: null,
    updated: now,
  };
  const counted = rate !== undefined || keyRate !== undefined;
  return {
    expect: [
      { table: gates, key: [queue], is: version === 0 ? "absent" : { version } },
      ...chosen.map(({ number, isOld }) => {
        const is = isOld === true ? { waiting: queue, epoch: null } : { waiting: queue };
        return { table: flows, key: [number], is };
      }),
    ],
    writes: [
      { type: "put", table: gates, row: { queue, version: version + 1 } },
      ...chosen.map(({ number, isOld }) => {
        const held = isOld === true ? { set: { ...set, epoch: token } } : { set, add: { epoch: 1 } };
        return { type: "update" as const, table: flows, key: [number], ...held };
      }),
      ...(counted
        ? chosen.map(({ lane }) => ({
            type: "insert" as const,
            table: starts,
            row: { queue, lane, at: NOT_NOTED_MS },
          }))
        : []),
      ...expired.map((number) => ({ type: "delete" as const, table: starts, key: [number] })),
    ],
  };
}

// ── use ───────────────────────────────────────────────────────────────────────────────────────────────────────────

async function useOf(
  store: Store,
  queue: string,
  lane: string | undefined,
  concurrency: number,
  rate: Rate | undefined,
  now: number,
): Promise<Use> {
  const prefix = lane === undefined ? [queue] : [queue, lane];
  const running =
    concurrency < Number.POSITIVE_INFINITY ? await store.count(flows, { index: "slot", prefix }) : 0;
  if (rate === undefined) return running === 0 ? NO_USE : { ...NO_USE, running };
  const window = { index: lane === undefined ? "queue" : "lane", prefix, after: now - rate.periodMs };
  const [recent, [first]] = await Promise.all([
    store.count(starts, window),
    store.scan(starts, { ...window, limit: 1 }),
  ]);
  return { running, recent, freeAt: first && Math.min(first.at, now) + rate.periodMs };
}

async function expiredOf(
  store: Store,
  queue: string,
  { rate, keyRate }: QueueLimits,
  now: number,
): Promise<number[]> {
  const longest = Math.max(rate?.periodMs ?? 0, keyRate?.periodMs ?? 0);
  if (longest === 0) return [];
  const old = { index: "queue", prefix: [queue], below: now - longest, limit: 2 * QUEUE_PAGE.flows };
  return (await store.scan(starts, old)).map(({ number }) => number);
}

// ── waiting flows ─────────────────────────────────────────────────────────────────────────────────────────────────

interface Swept {
  readonly candidates: readonly Candidate[];
  readonly next: PageEnd | undefined;
}

/** Waiting flows by rank, and within a rank by key, from the key behind the one that was served last. */
async function sweep(
  store: Store,
  queue: string,
  from: PageEnd | undefined,
  turns: Turns,
  accepts: Accepts,
): Promise<Swept> {
  const lanes: Candidate[][] = [];
  let place = from ?? (await rankAfter(store, queue, undefined, turns));
  while (place !== undefined && lanes.length < QUEUE_PAGE.lanes) {
    const [found, last] = await lanesOf(store, queue, place, accepts);
    lanes.push(...found);
    if (last !== undefined) place = { ...place, after: last };
    else if (place.upTo === undefined && turns.has(place.rank))
      place = { rank: place.rank, after: undefined, upTo: turns.get(place.rank) };
    else place = await rankAfter(store, queue, place.rank, turns);
  }
  const share = Math.floor(QUEUE_PAGE.flows / Math.max(1, lanes.length));
  // Few keys: a page holds more of each.
  const whole =
    place === undefined && share > PER_LANE ? await deepen(store, queue, lanes, share, accepts) : lanes;
  return { candidates: whole.flat(), next: place };
}

async function rankAfter(
  store: Store,
  queue: string,
  rank: number | undefined,
  turns: Turns,
): Promise<PageEnd | undefined> {
  const after = rank === undefined ? {} : { after: rank };
  const [row] = await store.scan(flows, { index: "waiting", prefix: [queue], limit: 1, ...after });
  return row && { rank: row.rank, after: turns.get(row.rank), upTo: undefined };
}

function candidate({ number, id, queue_key: lane, rank, epoch }: FlowRow): Candidate {
  return { number, flow: id, lane, rank, ...(epoch === null && { isOld: true }) };
}

/** The next keys from a place on, each with its first flows, and where to go on; undefined at the end of this part of the rank. */
async function lanesOf(
  store: Store,
  queue: string,
  { rank, after, upTo }: PageEnd,
  accepts: Accepts,
): Promise<readonly [lanes: Candidate[][], last: string | undefined]> {
  const limit = 4 * PER_LANE;
  const bounds = { ...(after !== undefined && { after }), ...(upTo !== undefined && { below: upTo }) };
  const rows = await store.scan(flows, { index: "waiting", prefix: [queue, rank], limit, ...bounds });
  const isWhole = rows.length < limit;
  if (isWhole && upTo !== undefined)
    rows.push(
      ...(await store.scan(flows, { index: "waiting", prefix: [queue, rank, upTo], limit: PER_LANE })),
    );
  const lanes = new Map<string, Candidate[]>();
  for (const row of rows) {
    const { queue_key: lane } = row;
    const list = lanes.get(lane) ?? [];
    if (list.length < PER_LANE && accepts(row)) list.push(candidate(row));
    lanes.set(lane, list);
  }
  return [
    [...lanes.values()].filter((lane) => lane.length > 0),
    isWhole ? undefined : [...lanes.keys()].at(-1),
  ];
}

/** The same keys with more of their flows. */
function deepen(
  store: Store,
  queue: string,
  lanes: readonly Candidate[][],
  limit: number,
  accepts: Accepts,
): Promise<Candidate[][]> {
  return Promise.all(
    lanes.map(async (lane) => {
      if (lane.length < PER_LANE) return lane;
      const { rank, lane: key } = lane[0] as Candidate;
      const rows = await store.scan(flows, { index: "waiting", prefix: [queue, rank, key], limit });
      return rows.filter(accepts).map(candidate);
    }),
  );
}
