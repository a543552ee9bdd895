// What a call handler may return besides the reply itself: later, no, or a reply and then the end.

import { Stop } from "../process/behaviour.js";
import { type ExitInput, toReason } from "../process/reason.js";

/** The caller of one call, for a handler that answers later. */
export interface Caller<R> {
  /** False once the call has ended: nobody waits any more. */
  readonly open: boolean;
  /** Answers; dropped when the call has ended. */
  reply(value: R): void;
  /** Answers with an error: the call rejects with exactly that. */
  refuse(error: Error): void;
}

/** The reply comes later, from whoever holds the {@link Caller}; the server goes on with its next message. */
export class Deferred<R> {
  /** Called by the server, once. */
  readonly begin: (caller: Caller<R>) => void;
  constructor(begin: (caller: Caller<R>) => void) {
    this.begin = begin;
  }
}

/** The call rejects with `error`, and the server goes on: a refusal is protocol, a failure is a crash. */
export class Refusal {
  readonly error: Error;
  constructor(error: Error) {
    this.error = error;
  }
}

/** The call gets its reply, then the server ends. */
export class StopReply<R> extends Stop {
  readonly value: R;
  constructor(value: R, input: ExitInput) {
    super(toReason(input));
    this.value = value;
  }
}

/**
 * Answers a call later.
 *
 * @example const calls = { next: (state: Desk) => defer<Job>((caller) => state.waiting.push(caller)) };
 */
export function defer<R>(begin: (caller: Caller<R>) => void): Deferred<R> {
  return new Deferred(begin);
}

/**
 * Answers a call with an error, without ending the server.
 *
 * @example const take = (state: Desk, n: number) => (n > state.left ? refuse(new RangeError("too many")) : (state.left -= n));
 */
export function refuse(error: Error): Refusal {
  return new Refusal(error);
}

/** Answers a call and ends the server, with reason `normal` unless given. */
export function replyAndStop<R>(value: R, reason: ExitInput = "normal"): StopReply<R> {
  return new StopReply(value, reason);
}
