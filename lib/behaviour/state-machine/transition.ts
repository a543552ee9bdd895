// One step of a state machine without a process: the same machine decides, and nothing is carried out.

import type { ExitReason } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { UnknownEventError, UnknownStateError } from "./errors.js";
import { type Action, checkEvent, checkState, type NamedState, Step, type TypedEvent } from "./moves.js";
import { decide, type EndState, initial, type OrderEffect, type OrderEvent } from "./order-machine.js";
import { enterNow, handleNow, isEventOf, type Table } from "./table.js";

/** The result of an event. */
export interface Transition<S, D = undefined> {
  /** The state after the event. */
  readonly state: S;
  /** The data after the event. A machine without data has none. */
  readonly data: D;
  /** The other actions of the machine, in this order: those of the handler, then those of the `enter` of the new state. */
  readonly actions: readonly Action[];
  /** Present when the machine stops: why. */
  readonly stops?: ExitReason;
}

/** The `from` of a transition without a call, so that a handler may reply all the same: the reply is discarded. */
const NOBODY = /* @__PURE__ */ Object.freeze({ open: false }) as unknown as ReplyTo<never>;

/** @throws what the handler throws, and the errors of a bad step */
export function transitionOf(
  table: Table,
  state: NamedState,
  event: TypedEvent,
  from: ReplyTo<never> = NOBODY,
  data?: unknown,
): Transition<NamedState, unknown> {
  checkState(state);
  checkEvent(event);
  if (table.states[state.name] === undefined)
    throw new UnknownStateError(state.name, Object.keys(table.states));
  if (!isEventOf(table, event)) throw new UnknownEventError(event, table.events);
  const arrival = { event, from };
  let order = initial(table.rules, state, data);
  let step = handleNow(table, state, event, from, data);
  let next: OrderEvent = { type: "handled", arrival, step };
  const actions: Action[] = [];
  for (;;) {
    if (step instanceof Step) actions.push(...step.actions);
    const [after, effects]: ReturnType<typeof decide> = decide(order, next);
    order = after;
    const last = effects.at(-1) as OrderEffect | undefined;
    switch (last?.type) {
      case "fail":
        throw last.error;
      case "stop":
        return { ...resultOf(table, last, actions), stops: last.reason };
      case "enter":
        step = enterNow(table, last.change.state, last.change.previous, last.change.data);
        next = { type: "entered", change: last.change, step };
        break;
      default:
        return resultOf(table, order, actions);
    }
  }
}

function resultOf(
  table: Table,
  { state, data }: EndState,
  actions: readonly Action[],
): Transition<NamedState, unknown> {
  return (table.rules.hasData ? { state, data, actions } : { state, actions }) as Transition<
    NamedState,
    unknown
  >;
}
