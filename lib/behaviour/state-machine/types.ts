// The types of a state machine, from the union of its states and the union of its events.

import type { ignore, Stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { ExitInput } from "../../process/reason.js";
import type { Reply, ReplyTo } from "../../process/request.js";
import type { Action, NamedState, Step, TypedEvent } from "./moves.js";

declare const reply: unique symbol;

/**
 * An event whose sender waits for a reply of type `R`: a member of the union of events. Events without `Call` are casts.
 *
 * @example
 * type PaymentEvent = Call<{ type: "pay"; card: string }, "accepted" | "declined"> | { type: "cancel" };
 */
export type Call<E extends TypedEvent, R> = E & {
  /** In types only. */
  readonly [reply]?: R;
};

type IsCall<E> = typeof reply extends keyof E ? true : false;

/** The reply to an event, if it is a {@link Call}. */
export type ReplyTypeOf<E> = E extends Call<TypedEvent, infer R> ? R : never;

/** The events of a union that are no {@link Call}: those that can be sent, inserted and timed. */
export type Sendable<V> = V extends unknown ? (IsCall<V> extends true ? never : V) : never;

/** The states of a union that may have this name. */
export type StateNamed<A extends NamedState, N> = A extends unknown
  ? [A["name"] & N] extends [never]
    ? never
    : A
  : never;

/** The events of a union that may have this type. */
export type EventTyped<V extends TypedEvent, T> = V extends unknown
  ? [V["type"] & T] extends [never]
    ? never
    : V
  : never;

/** The moves that `init`, `enter` and handlers have in common. Every one returns a value and does nothing yet. */
export interface CommonMoves<V, D = undefined> {
  /**
   * The data that all states share, as they were when the handler was called. A handler is pure: it does not change them in place
   * and returns {@link CommonMoves.setData}. `undefined` in a machine without data.
   */
  readonly data: D;
  /**
   * Replaces the data when this step ends: the `enter` of a new state sees the new data. Of several such actions the last one counts.
   */
  setData(data: D): Action;
  /** Answers a call that was handled before, by the `from` that its handler got. The answer is discarded when the call has ended. */
  replyTo<R>(from: ReplyTo<R>, value: NoInfer<R>): Action;
  /** Answers such a call with an error: it rejects with exactly that error. */
  refuseTo(from: ReplyTo<never>, error: Error): Action;
  /**
   * Starts the timeout of the state: `event` comes after `afterMs` milliseconds, unless the state has changed by then. 0 is before
   * the next message. Starting it again restarts it.
   *
   * @throws OptionError when `afterMs` is no duration
   */
  stateTimeout(afterMs: number, event: Sendable<V>): Action;
  /** Cancels the timeout of the state. */
  stateTimeout(word: "cancel"): Action;
  /** Gives the timeout of the state another event and leaves its time. When it does not run, the event comes at once. */
  stateTimeout(word: "update", event: Sendable<V>): Action;
  /** The same for the event timeout: the first event that comes cancels it. @throws OptionError */
  eventTimeout(afterMs: number, event: Sendable<V>): Action;
  /** Cancels the event timeout. */
  eventTimeout(word: "cancel"): Action;
  /** Every event cancels the event timeout, so that the event comes at once. */
  eventTimeout(word: "update", event: Sendable<V>): Action;
  /** The same for a timeout with a name, which nothing else cancels. There may be any number of names. @throws OptionError */
  timeout(name: string, afterMs: number, event: Sendable<V>): Action;
  /** Cancels the timeout with this name. */
  timeout(name: string, word: "cancel"): Action;
  /** Gives the timeout with this name another event. When it does not run, the event comes at once. */
  timeout(name: string, word: "update", event: Sendable<V>): Action;
  /**
   * Has the process do something, such as send a message. The machine does not wait for a promise. A throw or a rejection
   * crashes the machine.
   *
   * @example m.keep(m.run((ctx) => ctx.send("audit", "paid")))
   */
  run(effect: (ctx: Context<unknown>) => unknown): Action;
  /**
   * Has the process do something that ends in an event, such as a request to another service. The event is sent to the machine,
   * which handles other events meanwhile; `undefined` sends none. A throw or a rejection crashes the machine.
   *
   * @example m.task(async (ctx) => ({ type: "charged", receipt: await charge(card, ctx.signal) }))
   */
  task(effect: (ctx: Context<unknown>) => Sendable<V> | undefined | Promise<Sendable<V> | undefined>): Action;
}

/** The argument `m` of `init`. `N` are the states in which the machine may start, `V` its events, `D` its data. */
export interface InitMoves<N, V, D = undefined> extends CommonMoves<V, D> {
  /** The context of the process. */
  readonly ctx: Context<unknown>;
  /** Starts in a state, with actions. `init` may also return the state alone. */
  next(state: N, ...actions: readonly Action[]): Step;
  /** Inserts an event: it is handled before any message. */
  insert(event: Sendable<V>): Action;
}

/** The argument `m` of an `enter`. `S` is its state, `V` the events of the machine. */
export interface EnterMoves<S, V, D = undefined> extends CommonMoves<V, D> {
  /** Stays as it is. */
  keep(...actions: readonly Action[]): Step;
  /** Stays in this state with other data. */
  next(state: S, ...actions: readonly Action[]): Step;
  /** Has `enter` called again. */
  repeat(...actions: readonly Action[]): Step;
  /** Stops the machine, with reason `normal` unless given, after the replies. @throws OptionError when the reason is none */
  stop(reason?: ExitInput, ...replies: readonly Action[]): Step;
}

/** The argument `m` of a handler. `N` are the states it may go to: its own and those it declares. */
export interface Moves<N, V, D = undefined> extends CommonMoves<V, D> {
  /** Stays in this state as it is. */
  keep(...actions: readonly Action[]): Step;
  /** Goes to a state. The name of the present state with other data is no change of state. */
  next(state: N, ...actions: readonly Action[]): Step;
  /** Stays in this state and has its `enter` called again. Postponed events stay postponed. */
  repeat(...actions: readonly Action[]): Step;
  /** Stops the machine, with reason `normal` unless given, after the replies. @throws OptionError when the reason is none */
  stop(reason?: ExitInput, ...replies: readonly Action[]): Step;
  /** Inserts an event: it is handled before all that waits. Several are handled in the order of the actions. */
  insert(event: Sendable<V>): Action;
  /** Puts this event off until the state changes. Then all postponed events are handled again, oldest first. */
  postpone(): Action;
}

/** The argument `m` of the handler of a {@link Call}: it can answer. */
export interface CallMoves<N, V, R, D = undefined> extends Moves<N, V, D> {
  /** Answers this call. */
  reply(value: R): Action;
  /** Answers this call with an error: it rejects with exactly that error. */
  refuse(error: Error): Action;
}

/** The `m` of the handler of `E`. */
export type MovesOf<E, N, V, D = undefined> =
  IsCall<E> extends true ? CallMoves<N, V, ReplyTypeOf<E>, D> : Moves<N, V, D>;

/** The handler of event `E` in state `S`. `from` is for a reply that comes later. It may be asynchronous. */
export type StateHandler<S, E, N, V, D = undefined> = (
  state: S,
  event: E,
  m: MovesOf<E, N, V, D>,
  from: IsCall<E> extends true ? ReplyTo<ReplyTypeOf<E>> : undefined,
) => Step | Promise<Step>;

declare const fits: unique symbol;

/** The result of {@link to}: a handler with the states it may go to. */
export interface Going<S, E, A, V, D = undefined> {
  /** In types only. */
  [fits](state: S, event: E, events: V, data: D): readonly [A, V, D];
}

/** The result of {@link startIn}: the start of a machine with the states it may start in. */
export interface Starting<A, V, Args extends readonly unknown[], D = undefined> {
  /** In types only. */
  [fits](events: V, data: D, ...args: Args): readonly [A, V, D];
}

/**
 * What a state does with an event: a handler that stays in the state, a handler with targets (see {@link to}), `"postpone"`,
 * `"ignore"` for a cast, or `"refuse"` for a call, which rejects with WrongStateError.
 */
export type Cell<S, E, A, V, D = undefined> =
  | "postpone"
  | (IsCall<E> extends true ? "refuse" : "ignore")
  | StateHandler<S, E, S, V, D>
  | Going<S, E, A, V, D>;

/** One state of a definition. `A` is the union of all states, `V` that of all events, `D` the data of the machine. */
export interface StateDefinition<S, A, V extends TypedEvent, D = undefined> {
  /** Called when the machine comes into this state, before the next event. */
  readonly enter?: (state: S, previous: A, m: EnterMoves<S, V, D>) => Step | Promise<Step>;
  /** The reaction of the state to each event. Every event has to be there. */
  readonly on: { readonly [T in V["type"]]: Cell<S, EventTyped<V, T>, A, V, D> };
}

/** The values that `init` may return: a state, a step, `ignore` or `stop(reason)`. */
export type Begun<N> = N | Step | Stop | typeof ignore;

/** The states of a definition, by name. */
export type StatesOf<A extends NamedState, V extends TypedEvent, D = undefined> = {
  readonly [N in A["name"]]: StateDefinition<StateNamed<A, N>, A, V, D>;
};

/** A machine with data between two events: what inspection shows of it, and what a swap migrates. */
export interface StateWithData<S, D> {
  /** The state. */
  readonly state: S;
  /** The data that all states share. */
  readonly data: D;
}

/** A machine, as inspection shows it: its state, and beside it its data if it has some. */
export type MachineSnapshot<S, D> = [D] extends [undefined] ? S : StateWithData<S, D>;

/** The arguments of `transition` behind the state and the event: the data of a machine that has some, and whom to answer. */
export type TransitionArgs<D> = [D] extends [undefined]
  ? [from?: ReplyTo<never>]
  : [data: D, from?: ReplyTo<never>];

/** A definition whose machine has data says how the first are made. */
export type NeedsData<D> = [D] extends [undefined] ? unknown : { readonly data: unknown };

declare const declaredBy: unique symbol;

/** The members of its interface that an event of {@link EventsOf} keeps, so that the methods of handles have the comments of that. */
export interface DeclaredBy<M> {
  /** In types only. */
  readonly [declaredBy]?: M;
}

type Nothing = ReturnType<() => void>;

/** Whether a method of an interface of events is a cast: those return `void`, and not `undefined`. */
type IsCastMethod<F> = F extends (...args: never[]) => infer R
  ? [Nothing] extends [R]
    ? true
    : false
  : never;

type DeclaredEvent<M, T extends keyof M> = M[T] extends (...payload: infer A) => infer R
  ? (A extends readonly [] ? { readonly type: T } : { readonly type: T } & A[0]) &
      DeclaredBy<M> &
      (IsCastMethod<M[T]> extends true ? unknown : { readonly [reply]?: Awaited<R> })
  : never;

/**
 * The union of the events that an interface declares, as methods: one that returns `void` is a cast, every other one is a call with
 * that reply. The methods of handles then have the comments of the interface, and an editor leads from them to it.
 *
 * @example
 * interface LampEvents {
 *   // A comment here, in the form of JSDoc, shows on `lamp.call.press`.
 *   press(payload: { watts: number }): boolean;
 *   reset(): void;
 * }
 * const event: EventsOf<LampEvents> = { type: "press", watts: 60 };
 */
export type EventsOf<M> = { [T in keyof M & string]: DeclaredEvent<M, T> }[keyof M & string];

/** The interface that declares the events of a union; `never` where there is none. */
type DeclarationOf<V> = V extends unknown
  ? typeof declaredBy extends keyof V
    ? V extends DeclaredBy<infer M>
      ? M
      : never
    : never
  : never;

type CastNames<M> = { [T in keyof M]: IsCastMethod<M[T]> extends true ? T : never }[keyof M];
type CallNames<M> = Exclude<keyof M, CastNames<M>>;

// Mapped over names of the interface itself: so its comments and places carry over.

type DeclaredCalls<M, K extends keyof M> = {
  readonly [T in K]: M[T] extends (...payload: infer A) => infer R
    ? (...payload: A) => Promise<Awaited<R>>
    : never;
};

type DeclaredAsks<M, K extends keyof M> = {
  readonly [T in K]: M[T] extends (...payload: infer A) => infer R
    ? (...args: [...A, onReply: (reply: Reply<Awaited<R>>) => unknown]) => void
    : never;
};

/** The members of `T` with these names, written out in an editor. */
type Only<T, K extends keyof T> = T extends unknown ? { [P in K]: T[P] } : never;

/** The fields of an event besides its type. */
export type PayloadOf<E> = E extends unknown
  ? Only<E, Exclude<keyof E, "type" | typeof reply | typeof declaredBy>>
  : never;

/** The arguments of the method that sends `E`: what it carries, or nothing. */
export type PayloadArgs<E> = [keyof PayloadOf<E>] extends [never] ? [] : [payload: PayloadOf<E>];

/** The calls of a machine, as methods of its handle. */
export type MachineCalls<V extends TypedEvent> = [DeclarationOf<V>] extends [never]
  ? UnionCalls<V>
  : DeclaredCalls<DeclarationOf<V>, CallNames<DeclarationOf<V>>>;

type UnionCalls<V extends TypedEvent> = {
  readonly [E in V as IsCall<E> extends true ? E["type"] : never]: (
    ...payload: PayloadArgs<E>
  ) => Promise<ReplyTypeOf<E>>;
};

/** The calls of a machine with a callback for the reply as their last argument. */
export type MachineAsks<V extends TypedEvent> = [DeclarationOf<V>] extends [never]
  ? UnionAsks<V>
  : DeclaredAsks<DeclarationOf<V>, CallNames<DeclarationOf<V>>>;

type UnionAsks<V extends TypedEvent> = {
  readonly [E in V as IsCall<E> extends true ? E["type"] : never]: (
    ...args: [...PayloadArgs<E>, onReply: (reply: Reply<ReplyTypeOf<E>>) => unknown]
  ) => void;
};

/** The casts of a machine, as methods of its handle that return at once. */
export type MachineCasts<V extends TypedEvent> = [DeclarationOf<V>] extends [never]
  ? UnionCasts<V>
  : Only<DeclarationOf<V>, CastNames<DeclarationOf<V>>>;

type UnionCasts<V extends TypedEvent> = {
  readonly [E in V as IsCall<E> extends true ? never : E["type"]]: (...payload: PayloadArgs<E>) => void;
};
