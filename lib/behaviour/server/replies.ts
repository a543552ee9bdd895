// The results that a handler may return instead of a plain value: a later reply, a refusal, a stop, and the work that the server
// does before its next message.

import { ignore, SetAside, Stop } from "../../process/behaviour.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { anError, callable, delay } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { type ExitInput, toReason } from "../../process/reason.js";

/** The open end of one call, for a handler that answers early or later. */
export interface Caller<R> {
  /** The process that made the call. Undefined when code outside of all processes did. */
  readonly pid: Pid | undefined;
  /** False once the call has ended: a reply would be discarded. */
  readonly open: boolean;
  /** Answers the call. When the call has ended, the answer is discarded and the event `discardedReply` emitted. */
  reply(value: R): void;
  /** Answers with an error: the call rejects with exactly that error. */
  refuse(error: Error): void;
}

/** The next step of a server after a handler, before its next message. */
export type Next =
  | {
      /**
       * Work that runs before any other message, those included that wait already. Its result may ask for more work, set an
       * idle timeout, or stop the server.
       */
      readonly continue: () => unknown;
      /** Not together with `continue`: the work has a result of its own. */
      readonly idleMs?: never;
    }
  | {
      /**
       * After this many milliseconds without a message the server calls `idle`. `Infinity`: never. With 0 a message that waits
       * already comes first. Replaces `idleMs` of the definition until the next message.
       */
      readonly idleMs: number;
      /** Not together with `idleMs`. */
      readonly continue?: never;
    };

/** Base of the results that only the library creates. A handler may also throw them: that counts as a return. */
export abstract class Result {
  /** The work before the next message. */
  readonly next: Next | undefined;
  /** Created by the library. */
  constructor(next: Next | undefined) {
    this.next = next === undefined ? undefined : checkNext(next);
  }
}

/** Whether the library makes this value for handlers to return. */
export function isResult(value: unknown): boolean {
  return value instanceof Result || value instanceof Stop || value instanceof SetAside || value === ignore;
}

function checkNext(next: Next): Next {
  only("next", next, ["continue", "idleMs"]);
  const { continue: work, idleMs } = next;
  if (work !== undefined && typeof work !== "function")
    throw new OptionError("next.continue", work, "a function");
  if (idleMs !== undefined) delay("next.idleMs", idleMs, 0, true);
  if (work === undefined && idleMs === undefined)
    throw new OptionError("next", next, "an object of continue or idleMs");
  if (work !== undefined && idleMs !== undefined)
    throw new OptionError("next.idleMs", idleMs, "absent beside `continue`, whose result may set it");
  return next;
}

/** A reply, and what the server does next. See {@link reply}. */
export class Answer<R> extends Result {
  /** The reply. */
  readonly value: R;
  /** Created by the library. */
  constructor(value: R, next: Next | undefined) {
    super(next);
    this.value = value;
  }
}

/** No reply by this return. See {@link noReply}. */
export class NoReply<R> extends Result {
  /** In types only: the reply that the call gets in another way. */
  declare readonly later: R;
}

/** The state that `init` has made, and what the server does next. See {@link ready}. */
export class Ready<S> extends Result {
  /** The state. */
  readonly state: S;
  /** Created by the library. */
  constructor(state: S, next: Next | undefined) {
    super(next);
    this.state = state;
  }
}

/** A reply that comes later, through a {@link Caller}. The server continues with its next message. See {@link defer}. */
export class Deferred<R> extends Result {
  /** Called by the server, once. */
  readonly begin: (caller: Caller<R>) => void;
  /** Created by the library. */
  constructor(begin: (caller: Caller<R>) => void, next?: Next) {
    super(next);
    this.begin = begin;
  }
}

/** An answer that rejects the call with `error`. The server continues. See {@link refuse}. */
export class Refusal extends Result {
  /** The error with which the call rejects. */
  readonly error: Error;
  /** Created by the library. */
  constructor(error: Error, next?: Next) {
    super(next);
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
 * Answers a call, and says what the server does next. The reply goes out first.
 *
 * @throws OptionError
 * @example
 * const calls = {
 *   add: (state: number[], n: number) => reply(state.push(n), { continue: () => state.sort() }),
 * };
 */
export function reply<R>(value: R, next: Next): Answer<R> {
  return new Answer(value, checkNext(next));
}

/**
 * The result of a handler that does not answer: of a cast, a message, a signal, an idle timeout or a continued work, to say what
 * the server does next. In a call: its `this.caller` answers, or has answered. `R` is the type of that reply.
 *
 * @throws OptionError
 * @example const casts = { wake: (_state: object) => noReply({ idleMs: 5_000 }) };
 */
export function noReply<R = never>(next?: Next): NoReply<R> {
  return new NoReply<R>(next);
}

/**
 * The result of an `init` that has more to do: the server counts as started, and then does `next` before its first message.
 *
 * @throws OptionError
 * @example
 * const Cache = defineServer({
 *   init: () => {
 *     const state = { words: [] as string[] };
 *     return ready(state, { continue: () => void state.words.push("loaded") });
 *   },
 *   calls: { words: (state) => state.words },
 * });
 */
export function ready<S>(state: S, next: Next): Ready<S> {
  return new Ready(state, checkNext(next));
}

/**
 * Answers a call later. The server handles other messages meanwhile.
 *
 * @throws OptionError
 * @example const calls = { next: (state: Desk) => defer<Job>((caller) => state.waiting.push(caller)) };
 */
export function defer<R>(begin: (caller: Caller<R>) => void, next?: Next): Deferred<R> {
  return new Deferred(callable("begin", begin, "a function of the caller"), next);
}

/**
 * Answers a call with an error. The server continues, unlike after a throw, which crashes it.
 *
 * @throws OptionError
 * @example const take = (state: Desk, n: number) => (n > state.left ? refuse(new RangeError("too many")) : (state.left -= n));
 */
export function refuse(error: Error, next?: Next): Refusal {
  anError("error", error);
  return new Refusal(error, next);
}

/**
 * Answers a call and then stops the server, with reason `normal` unless given. `terminate` runs before the reply goes out, as in
 * OTP.
 *
 * @throws OptionError when the reason is none
 * @example const calls = { close: (state: { total: number }) => replyAndStop(state.total) };
 */
export function replyAndStop<R>(value: R, reason: ExitInput = "normal"): StopReply<R> {
  return new StopReply(value, reason);
}
