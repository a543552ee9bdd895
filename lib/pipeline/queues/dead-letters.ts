// The dead letters of a queue: messages that were given up, with what went wrong in each attempt, and what people do with them.

import type { Payloads } from "../../host/payload/payloads.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, flag } from "../../process/options.js";
import { ConflictError, type Store, type Table, type Write } from "../../store/index.js";
import { decide, type Fate, type LetterEvent } from "../messages/dead-machine.js";
import {
  checkChosen,
  checkDeed,
  checkDrop,
  type Deed,
  type DeedOptions,
  type DeedResult,
  type DropOptions,
  type LetterFilter,
  type LetterPlace,
} from "../messages/dead-options.js";
import { type DeadLetterRecord, shownRecord } from "../messages/dead-records.js";
import { DeadLetterNotFoundError } from "../messages/errors.js";
import { type RecordPlace, recordsIn, type Wanted } from "../messages/pages.js";
import { type Consequences, type Judged, type Shelf, settleLetters } from "../messages/shelf.js";
import type { QueueStore } from "./queue-store.js";
import { type Failure, historyOf } from "./status.js";
import {
  type DeadRecordRow,
  type DeadRow,
  deadMessages,
  deadRecords,
  queued,
  settledIds,
  topicOf,
} from "./tables.js";

/** A message that was given up. */
export interface DeadLetter<out T> {
  /** The id of the message. */
  readonly id: string;
  /** What was published. */
  readonly value: T;
  /** The key, if one was given. */
  readonly key: string | undefined;
  /** How often it was tried. */
  readonly attempts: number;
  /** What went wrong, the first attempt first. */
  readonly history: readonly Failure[];
  /** When it was given up, in milliseconds since 1970. */
  readonly at: number;
}

/** Options of {@link DeadLetters.replay}. */
export interface QueueReplayOptions extends DeedOptions {
  /** Also a message that was replayed before, from its record. Default false. */
  readonly again?: boolean;
}

/**
 * The dead letters of a queue. Each of them leaves the dead ones once, however many ask, and a record says what became of it. An operation is
 * fulfilled when that is durable.
 */
export class DeadLetters<in out T> {
  readonly #queue: QueueStore;
  readonly #payloads: Payloads;
  readonly #shelf: QueueShelf;

  /** @internal Use the `deadLetters` of a queue. */
  constructor(queue: QueueStore, payloads: Payloads) {
    this.#queue = queue;
    this.#payloads = payloads;
    this.#shelf = new QueueShelf(queue);
  }

  /** The oldest ones, the oldest first. @throws OptionError, StoreError, PayloadUnreadableError */
  async list(
    options: {
      /** Most dead letters, 1 or more. Default 1,000. */
      readonly limit?: number;
    } = {},
  ): Promise<DeadLetter<T>[]> {
    only("", options, ["limit"]);
    const limit = count("limit", options.limit ?? 1_000, 1);
    const { store, name } = this.#queue;
    const rows = await store.scan(deadMessages, { index: "at", prefix: [name], limit });
    return Promise.all(rows.map(async (row) => shownLetter(row, (await this.#payloads.load(row.body)) as T)));
  }

  /**
   * Puts messages back into the queue: their attempts begin anew, their history and their trace stay.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError when one of the ids is of no dead letter; QueueFullError, OptionError, StoreError
   * @example
   * await using queues = await openQueues(system, { store: memory() });
   * const mails = queues.queue<string>("mails");
   * await mails.deadLetters.retry("welcome-1", { reason: "the mail server is back" });
   * const { letters } = await mails.deadLetters.retry({ error: "ECONNREFUSED" });
   */
  retry(which: string | readonly string[] | LetterFilter, options: DeedOptions = {}): Promise<DeedResult> {
    return this.#settle(which, { type: "retry" }, () => checkDeed(options));
  }

  /**
   * Puts a message back with another value. The record keeps the value that it had.
   *
   * @throws DeadLetterNotFoundError, UnstorableValueError, PayloadTooLargeError, QueueFullError, OptionError, StoreError
   */
  async edit(id: string, value: T, options: DeedOptions = {}): Promise<void> {
    const deed = checkDeed(options);
    const chosen = checkChosen(letterId("id", id), letterId);
    const body = await this.#payloads.store(value, "value", `queue ${this.#queue.name}`);
    await settleLetters(this.#shelf, chosen, { event: { type: "edit" }, deed, body });
  }

  /**
   * Gives messages up for good: they are never tried again. Their ids are remembered as those of settled ones.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError, OptionError (also without a reason), StoreError
   */
  drop(which: string | readonly string[] | LetterFilter, options: DropOptions): Promise<DeedResult> {
    return this.#settle(which, { type: "drop" }, () => checkDrop(options));
  }

  /**
   * Puts a message back into its queue, as `retry` does. With `again`, also one that was replayed before: its value is in the record.
   *
   * @throws DeadLetterNotFoundError, QueueFullError, OptionError, StoreError
   */
  async replay(id: string, options: QueueReplayOptions = {}): Promise<void> {
    const deed = checkDeed(options, ["again"]);
    const again = flag("again", options.again ?? false);
    const chosen = checkChosen(letterId("id", id), letterId);
    try {
      await settleLetters(this.#shelf, chosen, { event: { type: "replay", again }, deed });
    } catch (error) {
      if (!(error instanceof DeadLetterNotFoundError)) throw error;
      await this.#shelf.copyAgain(id, again);
    }
  }

  /** Removes a message for good, as `drop` does with the reason "removed". @throws DeadLetterNotFoundError, OptionError, StoreError */
  async remove(id: string): Promise<void> {
    await this.drop(letterId("id", id), { reason: "removed" });
  }

  /**
   * What became of messages that were given up, in the order of their ids. Records are remembered as long as ids of settled messages.
   *
   * @param options.id - only the records of this message
   * @param options.limit - most records. Default: all
   */
  async *records(
    options: { readonly id?: string; readonly limit?: number } = {},
  ): AsyncGenerator<DeadLetterRecord<T>, void, undefined> {
    only("", options, ["id", "limit"]);
    const { id, limit = Number.POSITIVE_INFINITY } = options;
    const most = count("limit", limit, 1, true);
    const one = id === undefined ? undefined : letterId("id", id);
    for await (const row of this.#shelf.rows(one, { most })) {
      const errors = historyOf(row.history).map(({ error }) => error);
      yield shownRecord(row, (await this.#payloads.load(row.body)) as T, errors);
    }
  }

  async #settle(
    which: string | readonly string[] | LetterFilter,
    event: LetterEvent,
    deedOf: () => Deed,
  ): Promise<DeedResult> {
    const deed = deedOf();
    return settleLetters(this.#shelf, checkChosen(which, letterId), { event, deed });
  }
}

/** A row as people see it. */
export function shownLetter<T>({ id, tag, attempts, history, at }: DeadRow, value: T): DeadLetter<T> {
  return { id, value, key: tag ?? undefined, attempts, history: historyOf(history), at };
}

/** @throws OptionError */
function letterId(path: string, id: unknown): string {
  if (typeof id === "string" && id !== "") return id;
  throw new OptionError(path, id, "the id of a dead letter");
}

/** The tables of a queue, as shelf.ts uses them. */
export class QueueShelf implements Shelf<DeadRow> {
  readonly tables: { readonly dead: Table; readonly records: Table } = {
    dead: deadMessages as Table,
    records: deadRecords as Table,
  };
  readonly store: Store;
  readonly label: string;
  readonly #queue: QueueStore;

  constructor(queue: QueueStore) {
    this.#queue = queue;
    this.store = queue.store;
    this.label = `queue ${queue.name}`;
  }

  keyOf({ queue, id }: LetterPlace): [string, string] {
    return [queue, id];
  }

  find(ids: readonly string[]): Promise<(DeadRow | undefined)[]> {
    return this.store.get(
      deadMessages,
      ids.map((id) => [this.#queue.name, id]),
    );
  }

  page(behind: LetterPlace | undefined, limit: number): Promise<DeadRow[]> {
    const bounds = behind === undefined ? {} : { after: behind.id };
    return this.store.scan(deadMessages, { prefix: [this.#queue.name], ...bounds, limit });
  }

  async became(id: string): Promise<Fate | undefined> {
    return (await this.#last(id))?.fate as Fate | undefined;
  }

  errorsOf({ history }: DeadRow): readonly string[] {
    return historyOf(history).map(({ error }) => error);
  }

  async now(): Promise<number> {
    return this.#queue.time.now();
  }

  async consequences(judged: readonly Judged<DeadRow>[], body?: DeadRow["body"]): Promise<Consequences> {
    const { name } = this.#queue;
    const writes: Write[] = [];
    for (const { letter, effects } of judged)
      for (const { type } of effects)
        if (type === "put back" || type === "copy")
          writes.push(this.#live(body === undefined ? letter : { ...letter, body }));
    if (writes.length > 0) {
      await this.#queue.admit(writes.length);
      return { writes, notify: [topicOf(name)] };
    }
    const at = this.#queue.time.now();
    const named = judged.filter(({ letter }) => letter.named === 1);
    return {
      writes: named.map(({ letter: { id } }) => ({
        ...{ type: "put", table: settledIds, row: { queue: name, id, at } },
      })),
    };
  }

  /** The message of a letter, as one that was never tried. */
  #live({ id, named, body, tag, history, trace }: DeadRow): Write {
    const fresh = { id, named: named === 1, body, tag, delayMs: 0, trace: trace ?? undefined };
    return { type: "insert", table: queued, row: { ...this.#queue.row(fresh), history } };
  }

  async #last(id: string): Promise<DeadRecordRow | undefined> {
    const prefix = [this.#queue.name, id];
    const [row] = await this.store.scan(deadRecords, { prefix, reverse: true, limit: 1 });
    return row;
  }

  /** Puts a message that was replayed into the queue once more. @throws DeadLetterNotFoundError */
  async copyAgain(id: string, again: boolean): Promise<void> {
    const { name } = this.#queue;
    const record = await this.#last(id);
    const { turn, fate, copies } = record ?? { turn: 0, fate: undefined, copies: null };
    const [, effects] = decide(
      { turn, dead: false, fate: fate as Fate | undefined },
      { type: "replay", again },
    );
    if (record === undefined || effects.some(({ type }) => type === "refused"))
      throw new DeadLetterNotFoundError(this.label, id, fate);
    await this.#queue.admit(1);
    const one = { table: deadRecords, key: [name, id, turn] };
    try {
      await this.store.commit({
        expect: [{ ...one, is: { copies } }],
        writes: [
          { type: "update", ...one, add: { copies: 1 } },
          { type: "delete", table: settledIds, key: [name, id] },
          this.#live(record),
        ],
        notify: [topicOf(name)],
      });
    } catch (error) {
      // It waits or is in work, or another caller replays it at this moment.
      throw error instanceof ConflictError ? new DeadLetterNotFoundError(this.label, id, fate) : error;
    }
  }

  /** Records in the order of ids and turns. @param id - only those of this message */
  rows(id: string | undefined, wanted: Wanted<RecordPlace>): AsyncGenerator<DeadRecordRow, void, undefined> {
    return recordsIn(this.store, deadRecords, [this.#queue.name], id, wanted);
  }
}
