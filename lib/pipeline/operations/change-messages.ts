// People change live messages of an execution, page by page, each page in one commit. A commit expects every row as it was read. So a host
// that settles a message, or takes it, is never overruled by half: its commit or this one is refused as a whole.
//
// A commit raises `changed` of the execution. Rows of a store of one process do not say who works on a message: there the steps of the
// host expect `changed` as they know it, and after a refusal the ledger of the host catches up. See store-ledger.ts.

import { ConflictError, type RowExpectation, type Store, type Write } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import type { MessageId } from "../definition/message-id.js";
import type { MessageChange } from "../ledger/lineage.js";
import { MessageRows } from "../ledger/message-rows.js";
import {
  type ExecutionRow,
  executions,
  executionTopic,
  type MessageRow,
  messages,
} from "../ledger/tables.js";

/** Rows of one commit. */
const PAGE = 500;
/** So many commits in a row may be refused because hosts were faster. */
const MOST_REFUSED = 100;

/** The changes of one commit to messages, or to a source. */
export interface ChangeSet {
  readonly expect: readonly RowExpectation[];
  readonly writes: readonly Write[];
  /** Added to the counts of the execution. */
  readonly add?: Readonly<Partial<Record<"pending" | "done" | "dropped", number>>>;
  /** Further notifications, behind the topic of the execution. */
  readonly news?: readonly string[];
}

/** @returns `refused`: another was faster, or the execution has ended */
export async function commitChange(
  store: Store,
  scope: number,
  { expect, writes, add = {}, news = [] }: ChangeSet,
): Promise<"done" | "refused"> {
  const key = [scope];
  const topic = executionTopic(scope);
  const now = await wholeClock(store);
  const end = { status: "completed", ended: now, unannounced: 1, kept: now };
  try {
    await store.commit({
      expect: [{ table: executions, key, is: { ended: null } }, ...expect],
      writes: [
        ...writes,
        { type: "update", table: executions, key, add: { ...add, changed: 1 } },
        {
          type: "when",
          table: executions,
          key,
          is: { pending: 0 },
          writes: [{ type: "update", table: executions, key, set: end }],
        },
      ],
      notify: [topic, ...news.map((one) => topic + one)],
    });
    return "done";
  } catch (error) {
    if (error instanceof ConflictError) return "refused";
    throw error;
  }
}

/** Gives the next live messages that are not changed yet, so many at most. */
export type NextMessages = (limit: number) => Promise<readonly MessageRow[]>;

/** How far a change came. */
export interface Changed {
  readonly count: number;
  readonly more: boolean;
}

/** Changes messages until there are none, or so many were changed. */
export async function changeMessages(
  store: Store,
  scope: number,
  next: NextMessages,
  setOf: (rows: readonly MessageRow[]) => Promise<ChangeSet>,
  limit: number,
): Promise<Changed> {
  let size = PAGE;
  let done = 0;
  for (let refused = 0; done < limit && refused < MOST_REFUSED; ) {
    const rows = await next(Math.min(size, limit - done));
    if (rows.length === 0) return { count: done, more: false };
    const { expect, writes, ...rest } = await setOf(rows);
    const as = { ...rest, writes, expect: [...rows.map(asRead), ...expect] };
    if ((await commitChange(store, scope, as)) === "done") {
      done += rows.length;
      size = Math.min(PAGE, 2 * size);
      refused = 0;
    } else if (await hasEnded(store, scope)) return { count: done, more: false };
    else {
      // Fewer rows are rarely touched by a host in between.
      size = Math.max(1, Math.floor(size / 4));
      refused++;
    }
  }
  return { count: done, more: (await next(1)).length > 0 };
}

export async function hasEnded(store: Store, scope: number): Promise<boolean> {
  const [row] = await store.get(executions, [[scope]]);
  return row === undefined || row.ended !== null;
}

/** The key of the row of a message. */
export function keyOf({ scope, queue, lane, id }: MessageRow): (string | number)[] {
  return [scope, queue, lane, id];
}

/** The row is there, and its holder has not changed. */
function asRead(row: MessageRow): RowExpectation {
  return { table: messages, key: keyOf(row), is: { holder: row.holder } };
}

/** The messages of queues, in their order. */
export function ofQueues(store: Store, { number }: ExecutionRow, queues: readonly string[]): NextMessages {
  return async (limit) => {
    for (const queue of queues) {
      const rows = await store.scan(messages, { prefix: [number, queue], limit });
      if (rows.length > 0) return rows;
    }
    return [];
  };
}

/** Messages by their ids. @param isWanted - whether a message is not changed yet */
export function ofIds(
  store: Store,
  { number }: ExecutionRow,
  ids: readonly MessageId[],
  isWanted: (row: MessageRow) => boolean,
): NextMessages {
  const rows = new MessageRows(store, number);
  return async (limit) => {
    const found = await rows.of(ids);
    return found.flatMap(({ live }) => (live !== undefined && isWanted(live) ? [live] : [])).slice(0, limit);
  };
}

/** Earlier changes that people made to a message. */
export function changesOf({ changes }: MessageRow): readonly MessageChange[] {
  return changes === null ? [] : (JSON.parse(changes) as MessageChange[]);
}
