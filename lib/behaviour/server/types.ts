// How the type of a handle is inferred from the definition of a server.

import type { ignore, SetAside, Stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Reply } from "../../process/request.js";
import type { Answer, Caller, Deferred, NoReply, Ready, Refusal, StopReply } from "./replies.js";

/** `this` in a handler that is written as a method or a `function`: `take(state, n: number) { … }`. */
export interface HandlerScope {
  /** The context of the server's process. */
  readonly ctx: Context<unknown>;
}

/** `this` in the handler of a call. */
export interface CallScope extends HandlerScope {
  /**
   * The caller, and the means to answer it before or after the handler has ended. It can be kept; `this.caller` itself is there
   * while the handler runs, its awaits included.
   */
  readonly caller: Caller<unknown>;
}

/** A handler of a call or cast. It gets the state and then the arguments of the caller; as a method, also `this`. */
export type Handler<S> = (state: S, ...args: never[]) => unknown;

/** The state that an `init` makes. */
export type StateOf<R> = PlainState<Awaited<R>>;

type PlainState<R> = R extends Ready<infer S> ? S : R extends Stop | typeof ignore ? never : R;

/** The reply that a caller gets when a handler returns `R`. */
export type ReplyOf<R> = PlainReply<Awaited<R>>;

type PlainReply<R> =
  R extends Deferred<infer D>
    ? D
    : R extends Answer<infer V> | StopReply<infer V>
      ? V
      : R extends NoReply<infer L>
        ? L
        : R extends Refusal | Stop | SetAside
          ? never
          : R;

/** The handlers of a definition without the type of its state, which its handles do not need: so an editor shows them on one screen. */
type WithoutState<F> = F extends (state: never, ...args: infer A) => infer R
  ? (state: never, ...args: A) => R
  : never;

/**
 * What the type of a definition keeps of its handlers. The comments of the handlers carry over. The branch that is never taken lets the
 * compiler infer `C` from the stated type of a definition, so that parameters of handlers need none.
 */
export type HandlersOf<C> = C extends unknown ? { readonly [K in keyof C]: WithoutState<C[K]> } : C;

/** The calls of a server, as methods of its handle. */
export type Calls<C> = {
  readonly [K in keyof C]: C[K] extends (state: never, ...args: infer A) => infer R
    ? (...args: A) => Promise<ReplyOf<R>>
    : never;
};

/** The calls of a server, as methods whose last argument gets the reply. */
export type Asks<C> = {
  readonly [K in keyof C]: C[K] extends (state: never, ...args: infer A) => infer R
    ? (...args: [...A, onReply: (reply: Reply<ReplyOf<R>>) => unknown]) => void
    : never;
};

/** The casts of a server, as methods of its handle that return at once. */
export type Casts<K> = {
  readonly [N in keyof K]: K[N] extends (state: never, ...args: infer A) => unknown
    ? (...args: A) => void
    : never;
};
