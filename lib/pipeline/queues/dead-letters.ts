// The dead letters of a queue: messages that were given up, with what went wrong in each attempt.

import type { Payloads } from "../../flow/payload/payloads.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { ConflictError, type Write } from "../../store/index.js";
import { DeadLetterNotFoundError } from "./errors.js";
import type { QueueStore } from "./queue-store.js";
import { type Failure, historyOf } from "./status.js";
import { type DeadRow, deadMessages, queued, settledIds, topicOf } from "./tables.js";

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

/** The dead letters of a queue. */
export class DeadLetters<out T> {
  readonly #queue: QueueStore;
  readonly #payloads: Payloads;

  /** @internal Use the `deadLetters` of a queue. */
  constructor(queue: QueueStore, payloads: Payloads) {
    this.#queue = queue;
    this.#payloads = payloads;
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
    return Promise.all(rows.map((row) => this.#letter(row)));
  }

  /** Puts a message back into its queue. Its attempts begin anew; its history stays. @throws DeadLetterNotFoundError */
  async replay(id: string): Promise<void> {
    const { name } = this.#queue;
    const { named, body, tag, history } = await this.#find(id);
    await this.#queue.admit(1);
    const row = this.#queue.row({ id, named: named === 1, body, tag, delayMs: 0 });
    await this.#commit(id, [{ type: "insert", table: queued, row: { ...row, history } }], [topicOf(name)]);
  }

  /** Removes a message for good. Its id is remembered as that of a settled one. @throws DeadLetterNotFoundError */
  async remove(id: string): Promise<void> {
    const { name, time } = this.#queue;
    const { named } = await this.#find(id);
    const row = { queue: name, id, at: time.now() };
    await this.#commit(id, named === 1 ? [{ type: "put", table: settledIds, row }] : []);
  }

  async #find(id: string): Promise<DeadRow> {
    const { store, name } = this.#queue;
    const [row] = typeof id === "string" ? await store.get(deadMessages, [[name, id]]) : [];
    if (row === undefined) throw new DeadLetterNotFoundError(name, id);
    return row;
  }

  async #commit(id: string, writes: readonly Write[], notify: readonly string[] = []): Promise<void> {
    const { store, name } = this.#queue;
    const one = { table: deadMessages, key: [name, id] };
    const set = { writes: [{ type: "delete" as const, ...one }, ...writes], notify };
    try {
      await store.commit({ ...set, expect: [{ ...one, is: "present" }] });
    } catch (error) {
      // Somebody else was faster.
      throw error instanceof ConflictError ? new DeadLetterNotFoundError(name, id) : error;
    }
  }

  async #letter({ id, body, tag, attempts, history, at }: DeadRow): Promise<DeadLetter<T>> {
    const value = (await this.#payloads.load(body)) as T;
    return { id, value, key: tag ?? undefined, attempts, history: historyOf(history), at };
  }
}
