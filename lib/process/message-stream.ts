// The mailbox of a function body as a stream: `for await (const message of ctx.messages())`.

import { SignalEntry } from "./entries.js";
import type { Process } from "./process.js";
import { type PendingReceive, type ReceiveOptions, receive } from "./receive.js";

/** The messages of a process, oldest first. See `ctx.messages`. */
export interface MessageStream<M> extends AsyncIterableIterator<M, undefined, undefined>, AsyncDisposable {
  /** Waits for the next message. Done when the process has been asked to stop, or the stream has been closed. */
  next(): Promise<IteratorResult<M, undefined>>;
  /** Closes the stream. A `next` that waits is done; the messages in the mailbox stay there. */
  return(): Promise<IteratorResult<M, undefined>>;
}

/** Ends the wait of a stream that is closed. */
const CLOSED = Symbol("closed");

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

export class MailboxStream implements MessageStream<unknown> {
  readonly #process: Process;
  readonly #options: ReceiveOptions | undefined;
  #isClosed = false;
  #pending: PendingReceive | undefined;

  constructor(process: Process, options: ReceiveOptions | undefined) {
    this.#process = process;
    this.#options = options;
  }

  async next(): Promise<IteratorResult<unknown, undefined>> {
    if (this.#isClosed) return DONE;
    const process = this.#process;
    const received = receive(process, "until-stop", undefined, this.#options);
    this.#pending = process.pendingReceive;
    let item: unknown;
    try {
      item = await received;
    } catch (error) {
      if (error === CLOSED) return DONE;
      throw error;
    }
    if (!(item instanceof SignalEntry)) return { done: false, value: item };
    this.#isClosed = true;
    if (item.signal.type === "exit") process.extras.stopAsked = item.signal.reason;
    return DONE;
  }

  async return(): Promise<IteratorResult<unknown, undefined>> {
    this.#isClosed = true;
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined && pending === this.#process.pendingReceive) pending.aborted(CLOSED);
    return DONE;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
