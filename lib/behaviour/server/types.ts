// How the type of a handle is inferred from the definition of a server.

import type { ignore, Stop } from "../../process/behaviour.js";
import type { Deferred, Refusal, StopReply } from "./replies.js";

/** A handler of a call or cast. It gets the state and then the arguments of the caller. */
export type Handler<S> = (state: S, ...args: never[]) => unknown;

/** The state that an `init` makes. */
export type StateOf<R> = Exclude<Awaited<R>, Stop | typeof ignore>;

/** The reply that a caller gets when a handler returns `R`. */
export type ReplyOf<R> = PlainReply<Awaited<R>>;

type PlainReply<R> =
  R extends Deferred<infer D> ? D : R extends StopReply<infer V> ? V : R extends Refusal | Stop ? never : R;

/** The calls of a server, as methods of its handle. */
export type Calls<C> = {
  readonly [K in keyof C]: C[K] extends (state: never, ...args: infer A) => infer R
    ? (...args: A) => Promise<ReplyOf<R>>
    : never;
};

/** The casts of a server, as methods of its handle that return at once. */
export type Casts<K> = {
  readonly [N in keyof K]: K[N] extends (state: never, ...args: infer A) => unknown
    ? (...args: A) => void
    : never;
};
