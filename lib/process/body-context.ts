// What a function body can do beside everything in context.ts: receive, selectively and in order.

import type { Context } from "./context.js";
import type { Signal } from "./entries.js";
import type { ReceiveOptions } from "./receive.js";

/** What a function body is given: everything in {@link Context}, and its mailbox. */
export interface BodyContext<M = unknown> extends Context<M> {
  /** The oldest message that fits; waits for one. Messages that do not fit stay queued, in order. */
  receive(options?: ReceiveOptions): Promise<M>;
  receive<T extends M>(filter: (message: M) => message is T, options?: ReceiveOptions): Promise<T>;
  receive(filter: (message: M) => boolean, options?: ReceiveOptions): Promise<M>;
  /** The oldest signal that fits: EXIT when trapping, DOWN, group changes. */
  receiveSignal(options?: ReceiveOptions): Promise<Signal>;
  receiveSignal<T extends Signal>(
    filter: (signal: Signal) => signal is T,
    options?: ReceiveOptions,
  ): Promise<T>;
  receiveSignal(filter: (signal: Signal) => boolean, options?: ReceiveOptions): Promise<Signal>;
  /** The oldest entry, message or signal, in the order of arrival. */
  receiveAny(options?: ReceiveOptions): Promise<M | Signal>;
}
