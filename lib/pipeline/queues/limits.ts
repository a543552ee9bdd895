// Every limit of queues, with its name and default, in one table.

import type { Backoff } from "../../process/backoff.js";
import { PIPELINE_DEFAULTS, type QuarantinePolicy } from "../definition/policy.js";

/** How a queue treats its messages. Give all processes that use a queue the same. */
export interface QueuePolicy {
  /** Most messages that wait or are in work. One more is refused with QueueFullError. */
  readonly mostMessages: number;
  /** How often a message is tried, 1 or more, before it becomes a dead letter. Attempts that the end of a process interrupted do not count. */
  readonly attempts: number;
  /** The waits between the attempts. */
  readonly backoff: Backoff;
  /** What becomes of messages that end their process, by evidence. That counts apart from `attempts`. */
  readonly quarantine: QuarantinePolicy;
  /** How long the ids of settled messages are remembered at least, in milliseconds. 0: not at all. */
  readonly rememberMs: number;
  /** Most ids of settled messages that are remembered; beyond it, the oldest are forgotten first. */
  readonly rememberMost: number;
}

/** What a queue is given of its policy. The rest is as in QUEUE_DEFAULTS. */
export type QueuePolicyOptions = Partial<Omit<QueuePolicy, "quarantine">> & {
  readonly quarantine?: Partial<QuarantinePolicy>;
};

/** How a subscriber takes messages. */
export interface SubscriberPolicy {
  /** Most messages in work at a time. In flight are at most min(prefetch, concurrency). */
  readonly concurrency: number;
  /** Most messages that the subscriber holds, in work or ready for it. At most 10,000. */
  readonly prefetch: number;
  /** How long the handler may take with a message, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * A handler that takes longer than `timeoutMs` has failed, and `message.signal` aborts. It keeps its place among the `concurrency` until
   * it ends, for at most so many milliseconds more. 0: another handler takes the place at once.
   */
  readonly overrunMs: number;
}

/** The defaults of queues. */
export const QUEUE_DEFAULTS: {
  /** Of a queue. */
  readonly queue: QueuePolicy;
  /** Of a subscription. */
  readonly subscriber: SubscriberPolicy;
} = {
  queue: {
    mostMessages: 1_000_000,
    attempts: 3,
    backoff: { minMs: 1_000, maxMs: 60_000 },
    quarantine: PIPELINE_DEFAULTS.route.quarantine,
    rememberMs: 86_400_000,
    rememberMost: 100_000,
  },
  subscriber: { concurrency: 1, prefetch: 100, timeoutMs: 60_000, overrunMs: 60_000 },
};

/** Fixed limits: no option sets them. */
export const QUEUE_LIMITS = {
  /** Most characters of an id or a key. */
  idCharacters: 512,
  /** Most errors that a message keeps. The first ones are dropped. */
  historyEntries: 100,
  /** Most characters of an error that a message keeps. */
  errorCharacters: 1_000,
  /** How often a publication is repeated when others settle the same ids meanwhile. */
  publishAttempts: 10,
  /** A count of messages is used for so long where several processes publish. */
  countMs: 5_000,
} as const;
