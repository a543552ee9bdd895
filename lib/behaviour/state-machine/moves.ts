// The moves that a handler of a state machine returns: a step, and the actions that go with it. Plain values: nothing happens when they
// are made.

import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import { anError, delay, text } from "../../process/options.js";
import { type ExitInput, type ExitReason, NORMAL, toReason } from "../../process/reason.js";
import { type ReplyTo, requestOf } from "../../process/request.js";

/** Every state has a name, which tells it from the others: the discriminant of the union of states. */
export interface NamedState {
  /** The name of the state. */
  readonly name: string;
}

/** Every event has a type, which tells it from the others: the discriminant of the union of events. */
export interface TypedEvent {
  /** The type of the event. */
  readonly type: string;
}

/** Which timeout: that of the state, that of the next event, or one by name. There is one of each at most. */
export type TimeoutKey =
  | { readonly timeout: "state" }
  | { readonly timeout: "event" }
  | {
      readonly timeout: "named";
      /** The name of the timeout. */
      readonly name: string;
    };

/** An action of a step besides moving: a discriminated union, so that tests can read it. */
export type Action =
  | {
      readonly type: "reply";
      /** Whom to answer; absent: the call that is being handled. */
      readonly to?: ReplyTo<never>;
      /** The answer. */
      readonly value: unknown;
    }
  | {
      readonly type: "refuse";
      /** Whom to answer; absent: the call that is being handled. */
      readonly to?: ReplyTo<never>;
      /** The error with which the call rejects. */
      readonly error: Error;
    }
  | { readonly type: "postpone" }
  | {
      readonly type: "setData";
      /** The data from now on. */
      readonly data: unknown;
    }
  | {
      readonly type: "insert";
      /** The event that is handled before all others. */
      readonly event: TypedEvent;
    }
  | {
      readonly type: "startTimeout";
      /** Which timeout. */
      readonly key: TimeoutKey;
      /** Milliseconds until it comes. 0 is before the next message; `Infinity` cancels. */
      readonly afterMs: number;
      /** The event that comes then. */
      readonly event: TypedEvent;
    }
  | {
      readonly type: "cancelTimeout";
      /** Which timeout. */
      readonly key: TimeoutKey;
    }
  | {
      readonly type: "updateTimeout";
      /** Which timeout. */
      readonly key: TimeoutKey;
      /** The event that comes instead. */
      readonly event: TypedEvent;
    }
  | {
      /** A `run` is for its effect alone. The result of a `task` is an event, sent to the machine. */
      readonly type: "run" | "task";
      /** The work that the process does. */
      readonly effect: (ctx: Context<never>) => unknown;
    };

/** The decision of a handler. Made by {@link Moves}. */
export class Step {
  /** How the machine moves. */
  readonly type: "keep" | "next" | "repeat" | "stop";
  /** The new state; absent where the step keeps the state as it is. */
  readonly state: NamedState | undefined;
  /** The other actions, in this order. */
  readonly actions: readonly Action[];
  /** Why the machine stops. */
  readonly reason: ExitReason | undefined;
  /** Created by the library. */
  constructor(
    type: Step["type"],
    state: NamedState | undefined,
    actions: readonly Action[],
    reason?: ExitReason,
  ) {
    this.type = type;
    this.state = state;
    this.actions = actions;
    this.reason = reason;
  }
}

const NO_ACTIONS: readonly Action[] = /* @__PURE__ */ Object.freeze([]);

/** The step that changes nothing. */
export const KEEP: Step = /* @__PURE__ */ new Step("keep", undefined, NO_ACTIONS);

type Words = readonly [first: unknown, event?: unknown];

/** A timeout is started with a time, or it is cancelled or updated. */
function timeout(key: TimeoutKey, [first, event]: Words): Action {
  if (first === "cancel") return { type: "cancelTimeout", key };
  if (first === "update") return { type: "updateTimeout", key, event: checkEvent(event) };
  return { type: "startTimeout", key, afterMs: delay("afterMs", first, 0, true), event: checkEvent(event) };
}

export function checkState(state: unknown): NamedState {
  if (typeof (state as NamedState | undefined | null)?.name === "string") return state as NamedState;
  throw new OptionError("state", state, "an object with a name");
}

export function checkEvent(event: unknown): TypedEvent {
  if (typeof event === "object" && event !== null && typeof (event as TypedEvent).type === "string")
    return event as TypedEvent;
  throw new OptionError("event", event, "an object with a type");
}

type Effect = (ctx: Context<never>) => unknown;

function checkEffect(effect: unknown): Effect {
  if (typeof effect === "function") return effect as Effect;
  throw new OptionError("effect", effect, "a function");
}

function checkError(error: Error): Error {
  anError("error", error);
  return error;
}

function checkReplyTo(to: ReplyTo<never>): ReplyTo<never> {
  requestOf(to);
  return to;
}

const STATE: TimeoutKey = /* @__PURE__ */ Object.freeze({ timeout: "state" });
const EVENT: TimeoutKey = /* @__PURE__ */ Object.freeze({ timeout: "event" });

/** The `m` of every handler, without the types of its machine. It has no state, so all machines share it. */
export const moves = {
  keep: (...actions: readonly Action[]): Step =>
    actions.length === 0 ? KEEP : new Step("keep", undefined, actions),
  next: (state: NamedState, ...actions: readonly Action[]): Step =>
    new Step("next", checkState(state), actions),
  repeat: (...actions: readonly Action[]): Step => new Step("repeat", undefined, actions),
  stop: (reason: ExitInput = "normal", ...replies: readonly Action[]): Step =>
    new Step("stop", undefined, replies, reason === "normal" ? NORMAL : toReason(reason)),
  reply: (value: unknown): Action => ({ type: "reply", value }),
  refuse: (error: Error): Action => ({ type: "refuse", error: checkError(error) }),
  replyTo: (to: ReplyTo<never>, value: unknown): Action => ({ type: "reply", to: checkReplyTo(to), value }),
  refuseTo: (to: ReplyTo<never>, error: Error): Action => ({
    type: "refuse",
    to: checkReplyTo(to),
    error: checkError(error),
  }),
  postpone: (): Action => ({ type: "postpone" }),
  insert: (event: TypedEvent): Action => ({ type: "insert", event: checkEvent(event) }),
  setData: (data: unknown): Action => ({ type: "setData", data }),
  stateTimeout: (...words: Words): Action => timeout(STATE, words),
  eventTimeout: (...words: Words): Action => timeout(EVENT, words),
  timeout: (name: string, ...words: Words): Action =>
    timeout({ timeout: "named", name: text("name", name) }, words),
  run: (effect: Effect): Action => ({ type: "run", effect: checkEffect(effect) }),
  task: (effect: Effect): Action => ({ type: "task", effect: checkEffect(effect) }),
} as const;

/** The same with the data of a machine: one of its own for each handler that is called, for the data change between them. */
const DataMoves = /* @__PURE__ */ (() => {
  class Moves {
    readonly data: unknown;
    constructor(data: unknown) {
      this.data = data;
    }
  }
  Object.assign(Moves.prototype, moves);
  return Moves;
})();

/** Makes the `m` of a handler. */
export function movesWith(data: unknown): typeof moves {
  return data === undefined ? moves : (new DataMoves(data) as unknown as typeof moves);
}
