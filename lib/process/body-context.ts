// What a function body can do besides everything in context.ts: receive messages and signals, selectively and in order.

import type { Context } from "./context.js";
import type { Signal } from "./entries.js";
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
}
