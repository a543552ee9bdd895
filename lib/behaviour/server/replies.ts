// What a call handler may return instead of the reply itself: a later reply, a refusal, or a reply after which the server stops.

import { Stop } from "../../process/behaviour.js";
import { type ExitInput, toReason } from "../../process/reason.js";

/** The open end of one call, for a handler that answers later. */
export interface Caller<R> {
  /** False once the call has ended: a reply would be discarded. */
  readonly open: boolean;
  /** Answers the call. The answer is discarded when the call has ended. */
  reply(value: R): void;
  /** Answers with an error: the call rejects with exactly that error. */
  refuse(error: Error): void;
}

/** A reply that comes later, through a {@link Caller}. The server continues with its next message. See {@link defer}. */
export class Deferred<R> {
  /** Called by the server, once. */
  readonly begin: (caller: Caller<R>) => void;
  /** Created by the library. */
  constructor(begin: (caller: Caller<R>) => void) {
    this.begin = begin;
  }
}

/** An answer that rejects the call with `error`. The server continues. See {@link refuse}. */
export class Refusal {
  /** The error with which the call rejects. */
  readonly error: Error;
  /** Created by the library. */
  constructor(error: Error) {
    this.error = error;
  }
}

/** A reply after which the server stops. See {@link replyAndStop}. */
export class StopReply<R> extends Stop {
  /** The reply. */
  readonly value: R;
  /** Created by the library. */
  constructor(value: R, input: ExitInput) {
    super(toReason(input));
    this.value = value;
  }
}

/**
 * Answers a call later. The server handles other messages meanwhile.
 *
 * @example const calls = { next: (state: Desk) => defer<Job>((caller) => state.waiting.push(caller)) };
 */
export function defer<R>(begin: (caller: Caller<R>) => void): Deferred<R> {
  return new Deferred(begin);
}

/**
 * Answers a call with an error. The server continues, unlike after a throw, which crashes it.
 *
 * @example const take = (state: Desk, n: number) => (n > state.left ? refuse(new RangeError("too many")) : (state.left -= n));
 */
export function refuse(error: Error): Refusal {
  return new Refusal(error);
}

/**
 * Answers a call and then stops the server, with reason `normal` unless given.
 *
 * @throws OptionError when the reason is none
 * @example const calls = { close: (state: { total: number }) => replyAndStop(state.total) };
 */
export function replyAndStop<R>(value: R, reason: ExitInput = "normal"): StopReply<R> {
  return new StopReply(value, reason);
}
