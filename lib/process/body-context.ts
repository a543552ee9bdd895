// The context of a function body. Beside everything in context.ts, a body can receive messages and signals, selectively and in order.

import type { Context } from "./context.js";
import type { Signal } from "./entries.js";
import type { MessageStream } from "./message-stream.js";
import type { ReceiveOptions } from "./receive.js";

/**
 * The handle of a process made from a function body: everything in {@link Context}, and its mailbox.
 *
 * @example
 * const clerk = system.spawn<{ item: string }>(async (ctx) => {
 *   const order = await ctx.receive(({ item }) => item !== "", { timeoutMs: 5_000 });
 *   console.log(order.item);
 * });
 */
export interface BodyContext<M = unknown> extends Context<M> {
  /**
   * Takes the oldest message that fits the filter, or waits for one. Messages that do not fit stay in the mailbox, in order.
   *
   * @throws ReceiveTimeoutError after `timeoutMs` (no limit unless given), ReceiveBusyError when another receive waits
   */
  receive(options?: ReceiveOptions): Promise<M>;
  receive<T extends M>(filter: (message: M) => message is T, options?: ReceiveOptions): Promise<T>;
  receive(filter: (message: M) => boolean, options?: ReceiveOptions): Promise<M>;
  /** Takes the oldest signal that fits the filter, or waits for one: EXIT when trapping, DOWN, or a group change. */
  receiveSignal(options?: ReceiveOptions): Promise<Signal>;
  receiveSignal<T extends Signal>(
    filter: (signal: Signal) => signal is T,
    options?: ReceiveOptions,
  ): Promise<T>;
  receiveSignal(filter: (signal: Signal) => boolean, options?: ReceiveOptions): Promise<Signal>;
  /** Takes the oldest entry, be it a message or a signal, or waits for one. */
  receiveAny(options?: ReceiveOptions): Promise<M | Signal>;
  /**
   * The messages of this process as a stream for `for await`, oldest first. Between two of them nothing waits, so that the body
   * may receive in other ways, and a `break` leaves nothing behind; signals stay in the mailbox.
   *
   * The stream of a process that traps exits is done when its parent asks it to stop, after the messages that came before: the
   * body then cleans up and returns, and its exit reason is the parent's. A process that does not trap exits ends at once, so
   * that only its `finally` blocks run.
   *
   * @param options - the limits of each single wait, as of {@link BodyContext.receive}
   * @throws ReceiveTimeoutError from the loop, when no message came within `timeoutMs` (no limit unless given)
   * @example
   * const clerk = system.spawn<{ item: string }>(
   *   async (ctx) => {
   *     for await (const order of ctx.messages()) console.log(order.item);
   *     console.log("closing time");
   *   },
   *   { trapExit: true },
   * );
   */
  messages(options?: ReceiveOptions): MessageStream<M>;
}
