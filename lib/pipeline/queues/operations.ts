// The operations on all durable queues of a store: to find queues, to see how many messages they have, and to act on dead letters. A program
// has them as `queues.operations`, and offers them over its admin socket to the command `signalbox queues`.

import type { EvidenceView } from "../../host/index.js";
import type { DeedOptions, DeedResult, DropOptions, LetterFilter } from "../messages/dead-options.js";
import type { DeadLetterRecord } from "../messages/dead-records.js";
import type { DeadLetter } from "./dead-letters.js";
import type { LiveQueueMessage, LiveQueueOptions } from "./live-messages.js";
import type { QueueHeartbeat } from "./message-beats.js";
import type { QueueCounts } from "./queue-counts.js";

/** A queue in a list. */
export interface QueueSummary extends QueueCounts {
  /** The name of the queue. */
  readonly name: string;
}

/** Which queues are listed. They are in the order of their names. */
export interface QueueListFilter {
  /** Only those behind this name. */
  readonly after?: string;
  /** Most of them, 1 or more. Default: all. */
  readonly limit?: number;
  /** Each count ends there, so that a look costs the same however many messages there are. Default: no limit. */
  readonly atMost?: number;
}

/** Which dead letters of a queue are listed. They are in the order of their ids. */
export interface QueueLetterFilter {
  /** Only those behind this id. */
  readonly after?: string;
  /** Most of them, 1 or more. Default: all. */
  readonly limit?: number;
}

/** Which records of dead letters of a queue are listed. They are in the order of ids and turns. */
export interface QueueRecordFilter {
  /** Only those of this message. */
  readonly id?: string;
  /** Only those behind this one. */
  readonly behind?: {
    /** Its id. */
    readonly id: string;
    /** Its turn. */
    readonly turn: number;
  };
  /** Most of them, 1 or more. Default: all. */
  readonly limit?: number;
}

/** The operations. A queue that nothing was published to is like one that is empty. */
export interface QueueOperations {
  /**
   * The queues of the store, by name: those that have messages, dead letters or subscribers, or remember settled messages. The numbers are read
   * one after another, while others publish and settle.
   *
   * @throws OptionError
   */
  list(filter?: QueueListFilter): AsyncIterable<QueueSummary>;
  /** The last heartbeats of messages that are not settled, the oldest message first. @throws OptionError */
  heartbeats(
    queue: string,
    options?: {
      /** Most messages, 1 or more. Default 1,000. */
      readonly limit?: number;
    },
  ): Promise<readonly QueueHeartbeat[]>;
  /** Messages that are not settled: those that wait for their time, and why; those that subscribers have; those that may be taken. @throws OptionError */
  messages(queue: string, options?: LiveQueueOptions): Promise<readonly LiveQueueMessage[]>;
  /**
   * What the evidence of the program says about messages, which have names such as `queued:mails/7`, by their numbers: see `messages`. Without
   * a program, of those that have written beside the file of the store.
   */
  evidence(): Promise<readonly EvidenceView[]>;
  /** The dead letters of a queue. For a value that cannot be read, the error that says so. @throws OptionError */
  deadLetters(queue: string, filter?: QueueLetterFilter): AsyncIterable<DeadLetter<unknown>>;
  /** What became of messages that were given up and are dead no more: who did what, when and why. @throws OptionError */
  deadRecords(queue: string, filter?: QueueRecordFilter): AsyncIterable<DeadLetterRecord>;
  /**
   * Puts dead letters back into the queue: their attempts begin anew.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError when one of the ids is of no dead letter; QueueFullError, OptionError
   */
  retryDead(
    queue: string,
    which: string | readonly string[] | LetterFilter,
    options?: DeedOptions,
  ): Promise<DeedResult>;
  /**
   * Puts a dead letter back with another value. The record keeps the value that it had.
   *
   * @throws DeadLetterNotFoundError, UnstorableValueError, PayloadTooLargeError, QueueFullError, OptionError
   */
  editDead(queue: string, id: string, value: unknown, options?: DeedOptions): Promise<void>;
  /**
   * Gives dead letters up for good.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError, OptionError (also without a reason)
   */
  dropDead(
    queue: string,
    which: string | readonly string[] | LetterFilter,
    options: DropOptions,
  ): Promise<DeedResult>;
}
