// The rows of the messages of one execution, as people look for them: by id over all queues, and in the order of the ids. The tables
// have the queue before the id in their keys, so the names of the queues are found first.

import type { Store } from "../../store/index.js";
import type { Columns, RowOf, Table } from "../../store/table.js";
import { descendantsOf, hopsOf, type MessageId } from "../definition/message-id.js";
import { pagesOf, type RecordPlace, recordsIn, type Wanted } from "../messages/pages.js";
import {
  type DeadLetterRow,
  type DeadRecordRow,
  deadLetters,
  deadRecords,
  type KeptRow,
  keptValues,
  type LineageRow,
  lineage,
  type MessageRow,
  messages,
  READY,
} from "./tables.js";

/** Rows that are read from the store at a time. */
const PAGE = 1_000;

/**
 * Delayed messages that a look for people reads. They are in the order of their times, and no index has their ids: one that is none of the first
 * is not found.
 */
export const MOST_DELAYED = 10_000;

/** The rows of one message. */
export interface RowsOfMessage {
  readonly settled: LineageRow | undefined;
  readonly live: MessageRow | undefined;
  readonly dead: DeadLetterRow | undefined;
  /** Its record as a dead letter, if it is dead no more. */
  readonly record: DeadRecordRow | undefined;
  /** It may be one of the delayed messages that were not read. */
  readonly unread?: boolean;
}

/** Which queues of an execution hold something. */
export interface HeldQueues {
  readonly live: readonly string[];
  readonly dead: readonly string[];
  /** Those whose dead letters have records. */
  readonly records: readonly string[];
}

/** Delayed messages that were wanted. */
interface DelayedRows {
  readonly rows: readonly MessageRow[];
  /** False: there may be others behind those that were read. */
  readonly isAll: boolean;
}

/** A row of some table with the place of its message. */
type Placed = Readonly<Record<"queue" | "id", string>>;

export class MessageRows {
  readonly #store: Store;
  readonly #scope: number;

  /** @param scope - the number of the execution */
  constructor(store: Store, scope: number) {
    this.#store = store;
    this.#scope = scope;
  }

  /** The names of the queues that hold messages and dead letters. */
  async queues(): Promise<HeldQueues> {
    const tables = [messages, deadLetters, deadRecords] as const;
    const [live, dead, records] = await Promise.all(tables.map((table) => this.#queuesIn(table as Table)));
    return { live, dead, records } as HeldQueues;
  }

  /** The names of the queues that hold live messages. */
  liveQueues(): Promise<string[]> {
    return this.#queuesIn(messages);
  }

  async #queuesIn<C extends Columns>(table: Table<C>): Promise<string[]> {
    const found: string[] = [];
    for (;;) {
      const last = found.at(-1);
      const bounds = last === undefined ? {} : { after: last };
      const [row] = await this.#store.scan(table, { prefix: [this.#scope], ...bounds, limit: 1 });
      if (row === undefined) return found;
      found.push((row as unknown as Placed).queue);
    }
  }

  /** What became of a message, if it was settled. */
  async settledRow(id: MessageId): Promise<LineageRow | undefined> {
    const [row] = await this.#store.get(lineage, [[this.#scope, id]]);
    return row;
  }

  /**
   * Everything that is known of some messages, in their order.
   *
   * @param mostDelayed - so many delayed messages are read for them
   */
  async of(
    ids: readonly MessageId[],
    mostDelayed: number = Number.POSITIVE_INFINITY,
  ): Promise<RowsOfMessage[]> {
    if (ids.length === 0) return [];
    const scope = this.#scope;
    const settled = await this.#store.get(
      lineage,
      ids.map((id) => [scope, id]),
    );
    const { live, dead } = await this.queues();
    const ready = await this.#first(messages, ids, live, (queue, id) => [scope, queue, READY, id]);
    const given = await this.#first(deadLetters, ids, dead, (queue, id) => [scope, queue, id]);
    const open = new Set(ids.filter((id, i) => settled[i] === undefined && !ready.has(id) && !given.has(id)));
    const delayed = await this.#delayed(live, (id) => open.has(id), mostDelayed, open.size);
    const late = new Map(delayed.rows.map((row) => [row.id, row]));
    const rest = ids.filter((id) => !ready.has(id) && !late.has(id) && !given.has(id));
    const records = await this.records(rest);
    return ids.map((id, i) => ({
      settled: settled[i],
      live: ready.get(id) ?? late.get(id),
      dead: given.get(id),
      record: records.get(id),
      ...(!delayed.isAll && open.has(id) && !late.has(id) && { unread: true }),
    }));
  }

  /** The last records of messages that were given up at some time. */
  async records(ids: readonly MessageId[]): Promise<ReadonlyMap<MessageId, DeadRecordRow>> {
    const found = new Map<MessageId, DeadRecordRow>();
    if (ids.length === 0) return found;
    for (const queue of await this.#queuesIn(deadRecords)) {
      const last = { reverse: true, limit: 1 };
      const pages = await Promise.all(
        ids.map((id) => this.#store.scan(deadRecords, { prefix: [this.#scope, queue, id], ...last })),
      );
      for (const [row] of pages) if (row !== undefined) found.set(row.id, row);
    }
    return found;
  }

  /** The records of dead letters, in the order of queues, ids and turns. A read asks for `most` rows at most. */
  async *allRecords(
    id: MessageId | undefined,
    { behind, ...most }: Wanted<RecordPlace & { readonly queue: string }>,
  ): AsyncGenerator<DeadRecordRow, void, undefined> {
    for (const queue of await this.#queuesIn(deadRecords)) {
      if (behind !== undefined && queue < behind.queue) continue;
      const place = queue === behind?.queue ? behind : undefined;
      yield* recordsIn(this.#store, deadRecords, [this.#scope, queue], id, { behind: place, ...most });
    }
  }

  async #first<C extends Columns>(
    table: Table<C>,
    ids: readonly MessageId[],
    queues: readonly string[],
    key: (queue: string, id: MessageId) => readonly (string | number)[],
  ): Promise<Map<MessageId, RowOf<C>>> {
    const found = new Map<MessageId, RowOf<C>>();
    for (const queue of queues)
      for (const row of await this.#store.get(
        table,
        ids.map((id) => key(queue, id)),
      ))
        if (row !== undefined) found.set((row as unknown as Placed).id, row);
    return found;
  }

  /** What routes have kept of settled messages. */
  async kept(ids: readonly MessageId[]): Promise<ReadonlyMap<MessageId, KeptRow>> {
    const queues = await this.#queuesIn(keptValues);
    return this.#first(keptValues, ids, queues, (queue, id) => [this.#scope, queue, id]);
  }

  /**
   * Messages that wait for their time, of all queues, as far as their ids are wanted.
   *
   * @param most - rows that are read
   * @param enough - ends when so many are found
   */
  async #delayed(
    queues: readonly string[],
    isWanted: (id: MessageId) => boolean,
    most: number,
    enough: number = Number.POSITIVE_INFINITY,
  ): Promise<DelayedRows> {
    const rows: MessageRow[] = [];
    let left = most;
    if (enough === 0) return { rows, isAll: true };
    for (const queue of queues)
      for await (const row of this.#delayedIn(queue)) {
        if (left-- === 0) return { rows, isAll: false };
        if (isWanted(row.id) && rows.push(row) === enough) return { rows, isAll: true };
      }
    return { rows, isAll: true };
  }

  /** The delayed messages of a queue in the order of their times. Most have a lane of their own, so a page has many lanes. */
  async *#delayedIn(queue: string): AsyncGenerator<MessageRow, void, undefined> {
    const prefix = [this.#scope, queue];
    for (let from = READY + 1; ; ) {
      const rows = await this.#store.scan(messages, { prefix, from, limit: PAGE });
      const last = rows.at(-1)?.lane;
      if (last === undefined) return;
      if (rows.length < PAGE) return yield* rows;
      // There may be more in the last lane.
      yield* rows.filter(({ lane }) => lane < last);
      yield* pagesOf(this.#store, messages, [...prefix, last]);
      from = last + 1;
    }
  }

  /** Dead letters in the order of queues and ids. A read asks for `most` rows at most. @param isMeant - whether those of a queue are */
  async *letters(
    { behind, ...most }: Wanted<{ readonly queue: string; readonly id: MessageId }>,
    isMeant: (queue: string) => boolean,
  ): AsyncGenerator<DeadLetterRow, void, undefined> {
    for (const queue of (await this.queues()).dead) {
      if (!isMeant(queue) || (behind !== undefined && queue < behind.queue)) continue;
      yield* this.dead(queue, { behind: queue === behind?.queue ? behind.id : undefined, ...most });
    }
  }

  /** The dead letters of a queue, in the order of their ids. */
  dead(queue: string, wanted?: Wanted<MessageId>): AsyncGenerator<DeadLetterRow, void, undefined> {
    return pagesOf(this.#store, deadLetters, [this.#scope, queue], wanted);
  }

  /** What was settled, in the order of the ids. */
  settled(wanted?: Wanted<MessageId>): AsyncGenerator<LineageRow, void, undefined> {
    return pagesOf(this.#store, lineage, [this.#scope], wanted);
  }

  /**
   * The ids of the children of a message, in their order. Their own descendants are passed by. Of very many delayed messages, the first
   * {@link MOST_DELAYED} are looked at.
   */
  async *childrenOf(id: MessageId, after?: MessageId): AsyncGenerator<MessageId, void, undefined> {
    const hops = hopsOf(id) + 1;
    const { below } = descendantsOf(id);
    const { live, dead } = await this.queues();
    const isChild = (one: MessageId): boolean => hopsOf(one) === hops && one.startsWith(`${id}.`);
    const delayed = (await this.#delayed(live, isChild, MOST_DELAYED)).rows.map((row) => row.id).sort();
    const tables = [
      (bounds: Bounds) => this.#store.scan(lineage, { prefix: [this.#scope], ...bounds }),
      ...live.map(
        (queue) => (bounds: Bounds) =>
          this.#store.scan(messages, { prefix: [this.#scope, queue, READY], ...bounds }),
      ),
      ...dead.map(
        (queue) => (bounds: Bounds) =>
          this.#store.scan(deadLetters, { prefix: [this.#scope, queue], ...bounds }),
      ),
    ];
    let from = after === undefined ? descendantsOf(id).from : descendantsOf(after).below;
    for (;;) {
      const pages = await Promise.all(tables.map((read) => read({ from, below, limit: PAGE })));
      // Rows behind the end of a full page are not known yet.
      const ends = pages.filter((page) => page.length === PAGE).map((page) => page.at(-1)?.id as string);
      const horizon =
        ends.length === 0 ? undefined : ends.reduce((one, other) => (one < other ? one : other));
      const isKnown = (one: MessageId): boolean => horizon === undefined || one <= horizon;
      const ids = [...pages.flat().map((row) => row.id), ...delayed.filter((one) => one >= from)].filter(
        isKnown,
      );
      const children = new Set(ids.map((one) => childOn(id, one)));
      const sorted = [...children].sort();
      yield* sorted;
      if (horizon === undefined) return;
      from = descendantsOf(sorted.at(-1) ?? horizon).below;
    }
  }
}

interface Bounds {
  readonly from: MessageId;
  readonly below: MessageId;
  readonly limit: number;
}

/** The child of a message that a descendant of it comes from. */
function childOn(id: MessageId, descendant: MessageId): MessageId {
  const end = descendant.indexOf(".", id.length + 1);
  return end < 0 ? descendant : descendant.slice(0, end);
}
