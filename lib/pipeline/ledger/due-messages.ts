// The messages of a store that are due and that no host holds: what an autoscaler asks. See HostSignals.
//
// Every execution has its own range of keys, so the executions that run are found first. As a rule, hosts hold what their executions have:
// then one read of an execution is all. Only those of which more is free are counted queue by queue.

import { type DueSignals, LOOKED_AT, MOST_DUE, oldestOf } from "../../host/signals.js";
import type { Store } from "../../store/index.js";
import { MessageRows } from "./message-rows.js";
import type { StoreLedger } from "./store-ledger.js";
import { executions, type MessageRow, messages, READY } from "./tables.js";

/** Most executions that are looked at, those that were started first. */
const MOST_EXECUTIONS = 1_000;
/** Executions that are looked at at a time. */
const AT_ONCE = 50;
/** Most messages of this host that a look for the oldest passes over. */
const MOST_PASSED = 1_000;

/** The ledgers of a host, by the numbers of their executions. */
export type OpenLedgers = ReadonlyMap<number, Pick<StoreLedger, "handedOut">>;

/**
 * In a store of one process, the rows do not name the host that has taken them. There the messages of the executions count that this host
 * runs, without those that it has handed out.
 */
export async function dueMessages(store: Store, now: number, ledgers: OpenLedgers): Promise<DueSignals> {
  let due = 0;
  const since: (number | null)[] = [];
  let after: number | undefined;
  for (let seen = 0; seen < MOST_EXECUTIONS && due < MOST_DUE; seen += AT_ONCE) {
    const range = { index: "status", prefix: ["running"], ...(after !== undefined && { after }) };
    const rows = await store.scan(executions, { ...range, limit: AT_ONCE });
    const numbers = rows.map(({ number }) => number);
    const looks = numbers
      .filter((number) => store.shared || ledgers.has(number))
      .map((number) => dueOf(store, now, number, store.shared ? undefined : ledgers.get(number)));
    for (const found of await Promise.all(looks)) {
      due += found.due;
      since.push(...found.since);
    }
    if (rows.length < AT_ONCE) break;
    after = numbers.at(-1);
  }
  return { due: Math.min(MOST_DUE, due), oldestDueMs: oldestOf(now, since) };
}

/** What is due of an execution, or of one of its queues, and since when some of it is. */
interface DueSince {
  due: number;
  readonly since: (number | null)[];
}

const free = { where: { holder: null } };

async function dueOf(
  store: Store,
  now: number,
  scope: number,
  ledger: Pick<StoreLedger, "handedOut"> | undefined,
): Promise<DueSince> {
  const few = await store.scan(messages, { prefix: [scope], ...free, limit: LOOKED_AT + 1 });
  if (few.length <= LOOKED_AT) {
    const due = few.filter(
      ({ lane, queue, id }) => lane <= now && ledger?.handedOut(queue).known.has(id) !== true,
    );
    return { due: due.length, since: due.map((row) => (row.lane === READY ? row.since : row.lane)) };
  }
  const all: DueSince = { due: 0, since: [] };
  for (const queue of await new MessageRows(store, scope).liveQueues()) {
    const found = await dueIn(store, now, [scope, queue], ledger?.handedOut(queue));
    all.due += found.due;
    all.since.push(...found.since);
  }
  return all;
}

type HandedOut = ReturnType<StoreLedger["handedOut"]>;

/** Ready messages are in the order of their ids, and not of their waits. Delayed ones are in the order of their times. */
async function dueIn(
  store: Store,
  now: number,
  prefix: readonly [scope: number, queue: string],
  handedOut: HandedOut | undefined,
): Promise<DueSince> {
  const known = handedOut?.known.size ?? 0;
  const timely = { below: now + 1, ...free };
  const count = await store.count(messages, { prefix, ...timely, atMost: MOST_DUE + known });
  const due = Math.max(0, count - known);
  if (due === 0) return { due, since: [] };
  const passed = Math.min(known, MOST_PASSED);
  const lane = [...prefix, READY];
  const [ready, delayed] = await Promise.all([
    store.scan(messages, { prefix: lane, from: handedOut?.from ?? "", ...free, limit: LOOKED_AT + passed }),
    store.scan(messages, { prefix, ...timely, ...{ after: READY, limit: 1 + passed } }),
  ]);
  const isFree = ({ id }: MessageRow): boolean => handedOut?.known.has(id) !== true;
  const since = [
    ...ready.filter(isFree).map((row) => row.since),
    ...delayed.filter(isFree).map((row) => row.lane),
  ];
  return { due, since };
}
