// How a server's definition turns into the type of its handle: written once, inferred end to end.

import type { ignore, Stop } from "../process/behaviour.js";
import type { Deferred, Refusal, StopReply } from "./replies.js";

/** A handler of a call or cast: the state, then the caller's arguments. */
export type Handler<S> = (state: S, ...args: never[]) => unknown;

/** The state that an `init` makes. */
export type StateOf<R> = Exclude<Awaited<R>, Stop | typeof ignore>;

/** What a caller gets when a handler returns `R`. */
export type ReplyOf<R> = PlainReply<Awaited<R>>;

type PlainReply<R> =
  R extends Deferred<infer D> ? D : R extends StopReply<infer V> ? V : R extends Refusal | Stop ? never : R;

/** The calls of a server, as methods of its handle. */
export type Calls<C> = {
  readonly [K in keyof C]: C[K] extends (state: never, ...args: infer A) => infer R
    ? (...args: A) => Promise<ReplyOf<R>>
    : never;
};

/** The casts of a server, as methods of its handle: sent, and not waited for. */
export type Casts<K> = {
  readonly [N in keyof K]: K[N] extends (state: never, ...args: infer A) => unknown
    ? (...args: A) => void
    : never;
};
