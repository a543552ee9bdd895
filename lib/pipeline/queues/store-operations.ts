// The operations on queues over a store: they work beside any program that uses the queues, and without one.

import type { EvidenceView } from "../../host/index.js";
import type { Payloads } from "../../host/payload/payloads.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import type { Store } from "../../store/index.js";
import { checkName } from "../definition/queue.js";
import type { DeedOptions, DeedResult, DropOptions, LetterFilter } from "../messages/dead-options.js";
import { type DeadLetterRecord, shownRecord } from "../messages/dead-records.js";
import { pagesOf } from "../messages/pages.js";
import { type DeadLetter, DeadLetters, QueueShelf, shownLetter } from "./dead-letters.js";
import { QUEUE_DEFAULTS, type QueuePolicy } from "./limits.js";
import { type LiveQueueMessage, type LiveQueueOptions, readLive } from "./live-messages.js";
import { type QueueHeartbeat, shownBeats } from "./message-beats.js";
import type {
  QueueLetterFilter,
  QueueListFilter,
  QueueOperations,
  QueueRecordFilter,
  QueueSummary,
} from "./operations.js";
import { boundedCounts, queueNames, readCounts } from "./queue-counts.js";
import { QueueStore } from "./queue-store.js";
import { historyOf } from "./status.js";
import type { StoreTime } from "./store-time.js";
import { channels, type DeadRow, deadMessages } from "./tables.js";

/** What the operations use of their surroundings. */
export interface QueueOperationsPort {
  readonly store: Store;
  readonly time: StoreTime;
  readonly payloads: Payloads;
  /** The policy of a queue as this program uses it. Undefined: it does not, and the defaults count. */
  policyOf(queue: string): QueuePolicy | undefined;
  /** What the evidence of programs says. */
  evidence(): readonly EvidenceView[];
}

export class StoreQueueOperations implements QueueOperations {
  readonly #port: QueueOperationsPort;

  constructor(port: QueueOperationsPort) {
    this.#port = port;
  }

  async *list(filter: QueueListFilter = {}): AsyncGenerator<QueueSummary, void, undefined> {
    only("", filter, ["after", "limit", "atMost"]);
    const { limit = Number.POSITIVE_INFINITY, after, atMost } = filter;
    let left = count("limit", limit, 1, true);
    if (atMost !== undefined) count("atMost", atMost, 1);
    if (after !== undefined) text("after", after);
    const { store } = this.#port;
    for await (const name of queueNames(store, after)) {
      yield {
        name,
        ...(await (atMost === undefined ? readCounts(store, name) : boundedCounts(store, name, atMost))),
      };
      if (--left === 0) return;
    }
  }

  async heartbeats(
    queue: string,
    options: { readonly limit?: number } = {},
  ): Promise<readonly QueueHeartbeat[]> {
    checkName("queue", queue);
    only("", options, ["limit"]);
    const { limit = 1_000 } = options;
    return shownBeats(
      this.#port.payloads,
      await (await this.#queue(queue)).beating(count("limit", limit, 1)),
    );
  }

  async messages(queue: string, options: LiveQueueOptions = {}): Promise<readonly LiveQueueMessage[]> {
    checkName("queue", queue);
    return readLive(this.#port.store, queue, options);
  }

  async evidence(): Promise<readonly EvidenceView[]> {
    return this.#port.evidence();
  }

  async *deadLetters(
    queue: string,
    filter: QueueLetterFilter = {},
  ): AsyncGenerator<DeadLetter<unknown>, void, undefined> {
    checkName("queue", queue);
    only("", filter, ["after", "limit"]);
    const { limit = Number.POSITIVE_INFINITY, after } = filter;
    const most = count("limit", limit, 1, true);
    if (after !== undefined) text("after", after);
    for await (const row of pagesOf(this.#port.store, deadMessages, [queue], { behind: after, most }))
      yield shownLetter(row, await this.#shown(row.body));
  }

  /** A value for people. For one that cannot be read: the error that says so. */
  async #shown(body: DeadRow["body"]): Promise<unknown> {
    try {
      return await this.#port.payloads.load(body);
    } catch (error) {
      return error;
    }
  }

  async *deadRecords(
    queue: string,
    filter: QueueRecordFilter = {},
  ): AsyncGenerator<DeadLetterRecord, void, undefined> {
    checkName("queue", queue);
    only("", filter, ["id", "behind", "limit"]);
    const { id, behind, limit = Number.POSITIVE_INFINITY } = filter;
    const most = count("limit", limit, 1, true);
    if (id !== undefined) text("id", id);
    if (behind !== undefined) checkPlace(behind);
    for await (const row of new QueueShelf(await this.#queue(queue)).rows(id, { behind, most })) {
      const errors = historyOf(row.history).map(({ error }) => error);
      yield shownRecord(row, await this.#shown(row.body), errors);
    }
  }

  async retryDead(
    queue: string,
    which: string | readonly string[] | LetterFilter,
    options?: DeedOptions,
  ): Promise<DeedResult> {
    return (await this.#letters(queue)).retry(which, options);
  }

  async editDead(queue: string, id: string, value: unknown, options?: DeedOptions): Promise<void> {
    return (await this.#letters(queue)).edit(id, value, options);
  }

  async dropDead(
    queue: string,
    which: string | readonly string[] | LetterFilter,
    options: DropOptions,
  ): Promise<DeedResult> {
    return (await this.#letters(queue)).drop(which, options);
  }

  async #letters(queue: string): Promise<DeadLetters<unknown>> {
    return new DeadLetters<unknown>(await this.#queue(queue), this.#port.payloads);
  }

  /** A queue. Its messages are marked to be sent if a broker carries those of the queue. @throws OptionError */
  async #queue(name: string): Promise<QueueStore> {
    checkName("queue", name);
    const { store, time } = this.#port;
    const [channel] = await store.get(channels, [[name]]);
    const policy = this.#port.policyOf(name) ?? QUEUE_DEFAULTS.queue;
    return new QueueStore(name, store, time, policy, channel !== undefined);
  }
}

/** @throws OptionError */
function checkPlace(behind: unknown): void {
  if (typeof behind !== "object" || behind === null)
    throw new OptionError("behind", behind, "an object of id and turn");
  only("behind", behind, ["id", "turn"]);
  const { id, turn } = behind as { readonly id?: unknown; readonly turn?: unknown };
  text("behind.id", id);
  count("behind.turn", turn, 0);
}
