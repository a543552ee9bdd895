// The errors of a state machine while it runs. A wrong definition is an OptionError where it is defined.

import { SignalboxError } from "../../process/errors.js";
import { kindOf, show } from "../../process/show.js";

/**
 * A state machine has no state of this name. A handler or `init` went there past the compiler, or a definition was swapped
 * with a state that it does not know.
 *
 * @remedy Go to a state of the definition; `state` is the name that is not one.
 */
export class UnknownStateError extends SignalboxError {
  static override readonly name: string = "UnknownStateError";
  readonly code = "ERR_UNKNOWN_STATE";
  /** The name that no state has. */
  readonly state: string;
  /** The library creates these errors. */
  constructor(state: unknown, known: readonly string[]) {
    super(`${show(state)} is no state of this machine; its states are ${known.join(", ")}`);
    this.state = typeof state === "string" ? state : show(state);
  }
}

/**
 * A handler went to a state that its cell does not declare, so that the drawing of the machine would be wrong.
 *
 * @remedy Declare the target: `to("paid", handler)`.
 */
export class UndeclaredTransitionError extends SignalboxError {
  static override readonly name: string = "UndeclaredTransitionError";
  readonly code = "ERR_UNDECLARED_TRANSITION";
  /** The state that the handler belongs to. */
  readonly from: string;
  /** The event that the handler handled; `init` for the start. */
  readonly event: string;
  /** The state that the handler went to. */
  readonly to: string;
  /** The library creates these errors. */
  constructor(from: string, event: string, to: string, declared: readonly string[]) {
    super(
      `"${event}" in state "${from}" went to "${to}" and declares ${declared.length === 0 ? "no target" : declared.join(", ")}`,
    );
    this.from = from;
    this.event = event;
    this.to = to;
  }
}

/**
 * A state machine got an event that its definition does not have. The handle probably belongs to another machine.
 *
 * @remedy Use the handle that `start` or `at` of the right definition returned, and the events of its type.
 */
export class UnknownEventError extends SignalboxError {
  static override readonly name: string = "UnknownEventError";
  readonly code = "ERR_UNKNOWN_EVENT";
  /** The library creates these errors. */
  constructor(event: unknown, known: readonly string[]) {
    super(
      `${typeof event === "string" ? `"${event}"` : kindOf(event)} is no event of this state machine; its events are ${known.join(", ")}`,
    );
  }
}

/**
 * A call was refused, because it does not fit the state that the machine is in: the cell says `"refuse"`.
 *
 * @remedy Ask for the state first, call later, or declare a handler or `"postpone"` for the call in that state.
 */
export class WrongStateError extends SignalboxError {
  static override readonly name: string = "WrongStateError";
  readonly code = "ERR_WRONG_STATE";
  /** The state of the machine when it refused the call. */
  readonly state: string;
  /** The type of the event. */
  readonly event: string;
  /** The library creates these errors. */
  constructor(state: string, event: string) {
    super(`"${event}" is refused in state "${state}"`);
    this.state = state;
    this.event = event;
  }
}

/**
 * A handler, an `enter` or an `init` returned something that is no step.
 *
 * @remedy Return what `m.keep()`, `m.next(state)`, `m.repeat()` or `m.stop()` returns.
 */
export class BadStepError extends SignalboxError {
  static override readonly name: string = "BadStepError";
  readonly code = "ERR_BAD_STEP";
  /** The library creates these errors. */
  constructor(where: string, step: unknown) {
    super(`${where} returned ${kindOf(step)}; it must return a step such as m.keep() or m.next(state)`);
  }
}

/**
 * An `enter` may not change the state: the state change that it belongs to is not over.
 *
 * @remedy Return `m.keep(m.stateTimeout(0, event))` and change the state when that event comes.
 */
export class BadEnterStepError extends SignalboxError {
  static override readonly name: string = "BadEnterStepError";
  readonly code = "ERR_BAD_ENTER_STEP";
  /** The library creates these errors. */
  constructor(state: string, to: string) {
    super(`the enter of state "${state}" went to "${to}"; an enter may not change the state`);
  }
}

/**
 * A step holds something that is no action, or an action that has no meaning there: a reply where no call is handled, a
 * `postpone` in `init`.
 *
 * @remedy Use the actions that `m` has in that place, and `m.replyTo` to answer a call that was handled before.
 */
export class BadActionError extends SignalboxError {
  static override readonly name: string = "BadActionError";
  readonly code = "ERR_BAD_ACTION";
  /** The library creates these errors. */
  constructor(action: unknown, why = "it is no action of a state machine") {
    super(`bad action, ${kindOf(action)}: ${why}`);
  }
}

/**
 * An `enter` may neither postpone nor insert an event: no event is being handled.
 *
 * @remedy Insert the event in the handler that changes the state, or use `m.stateTimeout(0, event)`.
 */
export class BadEnterActionError extends SignalboxError {
  static override readonly name: string = "BadEnterActionError";
  readonly code = "ERR_BAD_ENTER_ACTION";
  /** The library creates these errors. */
  constructor(state: string, action: string) {
    super(`the enter of state "${state}" returned the action "${action}", which an enter may not have`);
  }
}

/**
 * More events are postponed than the machine's `maxPostponed` allows.
 *
 * @remedy Refuse events that cannot be handled for long, or raise `maxPostponed`.
 */
export class PostponedLimitError extends SignalboxError {
  static override readonly name: string = "PostponedLimitError";
  readonly code = "ERR_POSTPONED_LIMIT";
  /** The limit, 1 or more. */
  readonly maxPostponed: number;
  /** The library creates these errors. */
  constructor(state: string, maxPostponed: number) {
    super(`${maxPostponed} events are postponed in state "${state}", the limit \`maxPostponed\``);
    this.maxPostponed = maxPostponed;
  }
}

/**
 * `transition` met a handler that returned a promise, so that there is no result to give at once.
 *
 * @remedy Test an asynchronous handler through its process, or move what it awaits into `m.run`.
 */
export class AsyncTransitionError extends SignalboxError {
  static override readonly name: string = "AsyncTransitionError";
  readonly code = "ERR_ASYNC_TRANSITION";
  /** The library creates these errors. */
  constructor(state: string, event: string) {
    super(
      `the handler of "${event}" in state "${state}" is asynchronous; transition() takes only synchronous ones`,
    );
  }
}
