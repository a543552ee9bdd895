// The errors of messages, of brokers that carry them, and of operations on dead letters.

import { SignalboxError } from "../../process/errors.js";
import { kindOf, show, showCause } from "../../process/show.js";

/**
 * There is no dead letter with this id: it never was one, or it was replayed, retried, edited or dropped.
 *
 * @remedy List the dead letters, and the records of what became of others. With `again: true` a letter is replayed once more.
 */
export class DeadLetterNotFoundError extends SignalboxError {
  static override readonly name: string = "DeadLetterNotFoundError";
  readonly code = "ERR_QUEUE_DEAD_LETTER_NOT_FOUND";
  /** The id that was asked for. */
  readonly id: string;
  /** @param of - what has the letters, such as `queue orders` */
  constructor(of: string, id: string, became?: string) {
    super(`${of} has no dead letter ${show(id)}${became === undefined ? "" : `: it was ${became}`}`);
    this.id = id;
  }
}

/**
 * A queue holds as many messages as it may. None of the publication was stored.
 *
 * @remedy Publish more slowly, subscribe with more concurrency, or raise `mostMessages` of the queue.
 */
export class QueueFullError extends SignalboxError {
  static override readonly name: string = "QueueFullError";
  readonly code = "ERR_QUEUE_FULL";
  /** The name of the queue. */
  readonly queue: string;
  /** How many messages it holds. */
  readonly messages: number;
  constructor(queue: string, messages: number, more: number, most: number) {
    super(`queue ${queue} holds ${messages} messages, and ${more} more would pass its limit of ${most}`);
    this.queue = queue;
    this.messages = messages;
  }
}

/**
 * A queue, or a subscriber, was used after it was closed.
 *
 * @remedy Close queues after their users have stopped.
 */
export class QueueClosedError extends SignalboxError {
  static override readonly name: string = "QueueClosedError";
  readonly code = "ERR_QUEUE_CLOSED";
  constructor(queue: string) {
    super(`queue ${queue} is closed`);
  }
}

/**
 * A handler returned something that is no status. The attempt has failed; the message is tried again, as the queue's policy says.
 *
 * @remedy Return `done`, `retry()` or `dead()`, after an await of the work that it depends on.
 */
export class QueueStatusError extends SignalboxError {
  static override readonly name: string = "QueueStatusError";
  readonly code = "ERR_QUEUE_STATUS";
  constructor(queue: string, returned: unknown) {
    super(`the handler of queue ${queue} returned ${kindOf(returned)}: return done, retry() or dead()`);
  }
}

/**
 * A handler took longer with a message than its subscriber allows. The attempt has failed; its signal was aborted.
 *
 * @remedy Raise `timeoutMs` of the subscriber, or let the handler end when `message.signal` aborts.
 */
export class QueueTimeoutError extends SignalboxError {
  static override readonly name: string = "QueueTimeoutError";
  readonly code = "ERR_QUEUE_TIMEOUT";
  constructor(queue: string, timeoutMs: number) {
    super(`the handler of queue ${queue} took longer than ${timeoutMs} ms`);
  }
}

/**
 * A broker could not be reached, or refused what it was asked for. Messages stay in the store; they are published when it is back.
 *
 * @remedy Read the cause. Start the broker, or correct its address and rights.
 */
export class CarrierError extends SignalboxError {
  static override readonly name: string = "CarrierError";
  readonly code = "ERR_QUEUE_CARRIER";
  constructor(label: string, what: string, cause: unknown) {
    super(`${label} ${what}: ${showCause(cause)}`, { cause });
  }
}

/**
 * A broker does not have a channel that it had: it has lost its data, or the channel was removed. Queues make another one and send
 * all ready messages again; only code that uses a carrier directly gets this error.
 *
 * @remedy Look why the broker has lost its data. Nothing is lost: the store has all messages.
 */
export class ChannelGoneError extends SignalboxError {
  static override readonly name: string = "ChannelGoneError";
  readonly code = "ERR_QUEUE_CHANNEL_GONE";
  /** The name of the channel. */
  readonly channel: string;
  constructor(label: string, channel: string) {
    super(`${label} has no channel ${channel}`);
    this.channel = channel;
  }
}

/**
 * A letter is larger than its broker allows. Nothing was published.
 *
 * @remedy Raise the limit of the broker (`max_payload` of NATS). Queues never get here: their letters are short, however large the
 * messages are.
 */
export class LetterTooLargeError extends SignalboxError {
  static override readonly name: string = "LetterTooLargeError";
  readonly code = "ERR_QUEUE_LETTER_TOO_LARGE";
  /** The size of the letter. */
  readonly bytes: number;
  /** The limit of the broker. */
  readonly limitBytes: number;
  constructor(label: string, channel: string, bytes: number, limitBytes: number) {
    super(
      `channel ${channel}: a letter of ${bytes} bytes is over the limit of ${label}, ${limitBytes} bytes`,
    );
    this.bytes = bytes;
    this.limitBytes = limitBytes;
  }
}
