// The dead letters of an execution, as ../messages/shelf.ts uses them: where they are, and what else a commit about them changes: a letter
// that is put back is live again in the commit that takes it from the dead ones, and an execution that had completed goes on.

import type { AnyRow, Expectation, Store, Write } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import type { MessageId } from "../definition/message-id.js";
import type { Fate } from "../messages/dead-machine.js";
import type { LetterPlace } from "../messages/dead-options.js";
import type { Consequences, Judged, Shelf } from "../messages/shelf.js";
import { MessageRows } from "./message-rows.js";
import {
  carriedChannels,
  type DeadLetterRow,
  deadLetters,
  deadRecords,
  type ExecutionRow,
  executions,
  executionTopic,
  held,
  lineage,
  messages,
  outbox,
  READY,
  READY_NEWS,
  REOPENED_TOPIC,
} from "./tables.js";

/** Queues of an execution whose channels are looked at. */
const MOST_CHANNELS = 10_000;

/** What the tables of an execution need for its dead letters. */
export interface LetterShelfOptions {
  readonly store: Store;
  readonly execution: Pick<ExecutionRow, "number" | "id">;
  /** Whether dead letters of this queue are meant. Default: all. */
  readonly isMeant?: (queue: string) => boolean;
  /** The execution has failed or was cancelled: nothing can be put back. */
  over(status: string): Error;
}

export class LetterShelf implements Shelf<DeadLetterRow> {
  readonly tables: Shelf<DeadLetterRow>["tables"] = { dead: deadLetters, records: deadRecords };
  readonly store: Store;
  readonly label: string;
  readonly #scope: number;
  readonly #rows: MessageRows;
  readonly #options: LetterShelfOptions;

  constructor(options: LetterShelfOptions) {
    const { store, execution } = options;
    this.store = store;
    this.label = `the execution ${JSON.stringify(execution.id)}`;
    this.#scope = execution.number;
    this.#rows = new MessageRows(store, execution.number);
    this.#options = options;
  }

  keyOf = ({ queue, id }: LetterPlace): [number, string, string] => [this.#scope, queue, id];

  async find(ids: readonly MessageId[]): Promise<(DeadLetterRow | undefined)[]> {
    return (await this.#rows.of(ids)).map(({ dead }) => dead);
  }

  async page(behind: LetterPlace | undefined, limit: number): Promise<DeadLetterRow[]> {
    const found: DeadLetterRow[] = [];
    for await (const row of this.#rows.letters(
      { behind, most: limit },
      this.#options.isMeant ?? (() => true),
    ))
      if (found.push(row) === limit) break;
    return found;
  }

  async became(id: MessageId): Promise<Fate | undefined> {
    return (await this.#rows.records([id])).get(id)?.fate as Fate | undefined;
  }

  errorsOf({ history }: DeadLetterRow): readonly string[] {
    return JSON.parse(history) as string[];
  }

  async now(): Promise<number> {
    return await wholeClock(this.store);
  }

  async extras(letters: readonly DeadLetterRow[]): Promise<AnyRow[]> {
    const rows = await this.store.get(
      lineage,
      letters.map(({ id }) => [this.#scope, id]),
    );
    return rows.map((row) => ({ entry: row?.entry ?? null }));
  }

  async consequences(
    judged: readonly Judged<DeadLetterRow>[],
    body?: DeadLetterRow["body"],
  ): Promise<Consequences> {
    const back = judged.filter(({ effects }) => effects.some(({ type }) => type === "put back"));
    if (back.length > 0) return this.#putBack(back, body);
    const count = judged.length;
    const key = [this.#scope];
    return {
      writes: [{ type: "update", table: executions, key, add: { dead: -count, dropped: count } }],
      notify: [executionTopic(this.#scope)],
    };
  }

  async #putBack(
    back: readonly Judged<DeadLetterRow>[],
    body?: DeadLetterRow["body"],
  ): Promise<Consequences> {
    const key = [this.#scope];
    const [[execution], channels, now] = await Promise.all([
      this.store.get(executions, [key]),
      this.store.scan(carriedChannels, { prefix: key, limit: MOST_CHANNELS }),
      this.now(),
    ]);
    const { status, ended } = execution as ExecutionRow;
    if (status === "failed" || status === "cancelled") throw this.#options.over(status);
    const letters = back.map(({ letter }) => (body === undefined ? letter : { ...letter, body }));
    const carried = new Set(channels.map(({ queue }) => queue));
    const count = letters.length;
    const topic = executionTopic(this.#scope);
    return {
      // As long as it has not ended, or has ended in this way, and is not summed up.
      expect: [{ table: executions, key, is: { ended, totals: null } }] satisfies Expectation[],
      writes: [
        ...letters.flatMap((letter) => this.#live(letter, carried.has(letter.queue), now)),
        {
          // A host that runs it catches up with what people have changed.
          type: "update",
          table: executions,
          key,
          add: { pending: count, done: -count, dead: -count, changed: 1 },
          ...(ended !== null && {
            set: { status: "running", ended: null, unannounced: null, kept: null, stranded: null },
          }),
        },
        ...(ended === null ? [] : [{ type: "clear", table: held, prefix: key } as const]),
      ],
      notify: [...[topic, topic + READY_NEWS], ...(ended === null ? [] : [REOPENED_TOPIC + this.#scope])],
    };
  }

  /** The message of a letter, as one that was never tried: its errors stay. */
  #live({ queue, id, body, tag, history }: DeadLetterRow, isCarried: boolean, now: number): Write[] {
    const scope = this.#scope;
    const place = { scope, queue, lane: READY, id };
    const row = { ...place, since: now, body, history, ...(tag !== null && { tag }) };
    const send = { ...place, round: now };
    return [
      { type: "insert", table: messages, row },
      { type: "delete", table: lineage, key: [scope, id] },
      ...(isCarried ? [{ type: "put", table: outbox, row: send } as const] : []),
    ];
  }
}
