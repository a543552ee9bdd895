// A definition as the process uses it: checked once, without the types of its author, one table of cells for each state.

import { checkBound, type MailboxLimits } from "../../process/bound.js";
import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { asGiven, checked, fn, maybe, whole } from "../../process/option-schema.js";
import { callable, flag, text } from "../../process/options.js";
import type { ExitReason } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { isThenable } from "../../process/thenable.js";
import { isResult } from "../server/replies.js";
import {
  AsyncTransitionError,
  UndeclaredTransitionError,
  UnknownEventError,
  UnknownStateError,
  WrongStateError,
} from "./errors.js";
import { KEEP, moves, movesWith, type NamedState, Step, type TypedEvent } from "./moves.js";
import type { Rules } from "./order-machine.js";

type LooseHandler = (state: NamedState, event: TypedEvent, m: typeof moves, from: unknown) => unknown;
type LooseEnter = (state: NamedState, previous: NamedState, m: typeof moves) => unknown;

/** The reaction of a state to an event. */
export interface CellPlan {
  /** Absent: the state takes `step` for every such event. */
  readonly handle: LooseHandler | undefined;
  readonly step: Step;
  /** The states it may go to, besides its own. */
  readonly targets: readonly string[];
  /** How the definition says it, for the drawing. */
  readonly word: "handle" | "ignore" | "postpone" | "refuse";
}

export interface StatePlan {
  readonly name: string;
  readonly enter: LooseEnter | undefined;
  /** By the type of the event. No prototype. */
  readonly cells: { readonly [event: string]: CellPlan | undefined };
}

export interface Table {
  readonly rules: Rules;
  /** Makes the data that all states share. Absent: the machine has none. */
  readonly data: ((ctx: Context<never>, ...args: readonly unknown[]) => unknown) | undefined;
  readonly init: (m: object, ...args: readonly unknown[]) => unknown;
  /** The states in which the machine may start. */
  readonly initial: readonly string[];
  /** By name. No prototype. */
  readonly states: { readonly [name: string]: StatePlan | undefined };
  readonly events: readonly string[];
  readonly info: ((message: unknown, data: unknown) => TypedEvent | undefined) | undefined;
  readonly signal: ((signal: never, data: unknown) => TypedEvent | undefined) | undefined;
  readonly terminate: ((state: never, reason: ExitReason, data: unknown) => unknown) | undefined;
  readonly format: ((state: never, data: unknown) => unknown) | undefined;
  readonly label: string;
  readonly mailbox: MailboxLimits | undefined;
  readonly trapExit: boolean;
}

/** The result of `to` and `startIn`: a function with the states it may go to. */
export class Targets {
  readonly targets: readonly string[];
  readonly handle: (...args: never[]) => unknown;
  constructor(targets: readonly string[], handle: (...args: never[]) => unknown) {
    this.targets = targets;
    this.handle = handle;
  }
}

/** @throws OptionError when a part of the definition is not what it has to be */
export function compile(definition: object): Table {
  const { init, states, maxPostponed, data, ...rest } = checked(
    "",
    definition,
    {
      data: maybe(fn<NonNullable<Table["data"]>>()),
      init: asGiven<unknown>(),
      states: asGiven<unknown>(),
      info: maybe(fn<NonNullable<Table["info"]>>()),
      signal: maybe(fn<NonNullable<Table["signal"]>>()),
      terminate: maybe(fn<NonNullable<Table["terminate"]>>()),
      format: maybe(fn<NonNullable<Table["format"]>>()),
      label: text,
      mailbox: maybe(checkBound),
      trapExit: flag,
      maxPostponed: whole(1, Number.POSITIVE_INFINITY),
    },
    { label: "state machine", trapExit: false, maxPostponed: Number.POSITIVE_INFINITY },
  );
  if (!(init instanceof Targets))
    throw new OptionError(
      "init",
      init,
      'startIn("state", function), with the state in which the machine starts',
    );
  const plans = compileStates(states);
  const known = Object.keys(plans);
  checkTargets("init", init.targets, known);
  const events = Object.keys((plans[known[0] as string] as StatePlan).cells);
  for (const name of known) checkComplete(plans, name, events);
  const enters = Object.assign(
    Object.create(null),
    Object.fromEntries(known.map((name) => [name, plans[name]?.enter !== undefined])),
  ) as Rules["enters"];
  return {
    rules: { enters, events: new Set(events), maxPostponed, hasData: data !== undefined },
    data,
    init: init.handle as Table["init"],
    initial: init.targets,
    states: plans,
    events,
    ...rest,
  };
}

function compileStates(states: unknown): { [name: string]: StatePlan } {
  if (typeof states !== "object" || states === null || Object.keys(states).length === 0)
    throw new OptionError("states", states, "an object with a member for each state");
  const known = Object.keys(states);
  const plans = Object.create(null) as { [name: string]: StatePlan };
  for (const [name, state] of Object.entries(
    states as { [name: string]: { enter?: unknown; on?: unknown } },
  )) {
    const path = `states.${name}`;
    only(path, state, ["enter", "on"]);
    const { enter, on } = state;
    if (enter !== undefined) callable(`${path}.enter`, enter);
    if (typeof on !== "object" || on === null)
      throw new OptionError(`${path}.on`, on, "an object with a member for each event");
    const cells = Object.create(null) as { [event: string]: CellPlan };
    for (const [event, cell] of Object.entries(on)) {
      cells[event] = compileCell(`${path}.on.${event}`, name, event, cell, known);
    }
    plans[name] = { name, enter: enter as LooseEnter | undefined, cells };
  }
  return plans;
}

function compileCell(
  path: string,
  state: string,
  event: string,
  cell: unknown,
  known: readonly string[],
): CellPlan {
  const fixed = (word: CellPlan["word"], step: Step): CellPlan => ({
    handle: undefined,
    step,
    targets: [],
    word,
  });
  if (cell === "ignore") return fixed(cell, KEEP);
  if (cell === "postpone") return fixed(cell, new Step("keep", undefined, [moves.postpone()]));
  if (cell === "refuse")
    return {
      ...fixed(cell, KEEP),
      handle: () => moves.keep(moves.refuse(new WrongStateError(state, event))),
    };
  const plan = (handle: unknown, targets: readonly string[]): CellPlan => ({
    handle: handle as LooseHandler,
    step: KEEP,
    targets,
    word: "handle",
  });
  if (typeof cell === "function") return plan(cell, []);
  if (cell instanceof Targets) {
    checkTargets(path, cell.targets, known);
    return plan(cell.handle, cell.targets);
  }
  throw new OptionError(path, cell, 'a function, to("state", function), "ignore", "postpone" or "refuse"');
}

function checkTargets(path: string, targets: readonly string[], known: readonly string[]): void {
  for (const target of targets) {
    if (!known.includes(target))
      throw new OptionError(path, target, `to(…) of one of the states ${known.join(", ")}`);
  }
}

/** Every state says what it does with every event. */
function checkComplete(
  plans: { readonly [name: string]: StatePlan },
  name: string,
  events: readonly string[],
): void {
  const { cells } = plans[name] as StatePlan;
  const all = new Set([...events, ...Object.keys(cells)]);
  for (const event of all) {
    const lacking =
      cells[event] === undefined ? name : events.includes(event) ? undefined : Object.keys(plans)[0];
    if (lacking === undefined) continue;
    throw new OptionError(
      `states.${lacking}.on.${event}`,
      undefined,
      'there, since another state has it: a function, to("state", function), "ignore", "postpone" or "refuse"',
    );
  }
}

/** Whether the definition has this event. */
export function isEventOf(table: Table, event: unknown): event is TypedEvent {
  return typeof event === "object" && event !== null && table.rules.events.has((event as TypedEvent).type);
}

/** Makes a function with targets. @throws OptionError */
export function targets(what: string | readonly string[], handle: unknown): Targets {
  const names = typeof what === "string" ? [what] : what;
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === "string"))
    throw new OptionError("targets", what, "the name of a state, or a list of names that is not empty");
  return new Targets([...names], callable("handle", handle) as Targets["handle"]);
}

/** The reaction of a state to an event, if the definition has both. */
export function cellIn(table: Table, state: NamedState, event: TypedEvent): CellPlan | undefined {
  return table.states[state.name]?.cells[event?.type];
}

/** @throws UnknownStateError, UnknownEventError */
function cellOf(table: Table, state: NamedState, event: TypedEvent): CellPlan {
  const cell = cellIn(table, state, event);
  if (cell !== undefined) return cell;
  throw table.states[state.name] === undefined
    ? new UnknownStateError(state.name, Object.keys(table.states))
    : new UnknownEventError(event.type, table.events);
}

/** Calls the handler of an event. Its step goes where the cell declares. @throws the errors of the handler */
export function handleIn(
  table: Table,
  state: NamedState,
  event: TypedEvent,
  from: unknown,
  data: unknown,
  cell: CellPlan = cellOf(table, state, event),
): unknown {
  const { handle, step, targets } = cell;
  if (handle === undefined) return step;
  let result: unknown;
  try {
    result = handle(state, event, movesWith(data), from);
  } catch (error) {
    result = thrownStep(error);
  }
  if (result === KEEP) return result;
  if (result instanceof Step || !isThenable(result))
    return declared(table, targets, state.name, event.type, result);
  return resolvedStep(result).then((late) => declared(table, targets, state.name, event.type, late));
}

/** Calls the `enter` of a state. @throws the errors of `enter` */
export function enterIn(table: Table, state: NamedState, previous: NamedState, data: unknown): unknown {
  try {
    const result = table.states[state.name]?.enter?.(state, previous, movesWith(data));
    return isThenable(result) ? resolvedStep(result) : result;
  } catch (error) {
    return thrownStep(error);
  }
}

/**
 * A result that the library has made, such as a step, counts as returned when it is thrown, as in OTP, though it may be no step that
 * fits here. Everything else that is thrown is an error.
 */
export function thrownStep(error: unknown): unknown {
  if (error instanceof Step || isResult(error)) return error;
  throw error;
}

/** Calls `init`. @throws the errors of `init` */
export function initIn(table: Table, ctx: Context<never>, data: unknown, args: readonly unknown[]): unknown {
  try {
    const made = table.init({ ...moves, ctx, data }, ...args);
    return isThenable(made) ? resolvedStep(made) : made;
  } catch (error) {
    return thrownStep(error);
  }
}

function resolvedStep(result: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(result).catch(thrownStep);
}

/** @throws UndeclaredTransitionError, UnknownStateError */
export function declared(
  table: Table,
  targets: readonly string[],
  from: string,
  event: string,
  step: unknown,
): unknown {
  if (!(step instanceof Step) || step.state === undefined) return step;
  const { name } = step.state;
  if (name === from || targets.includes(name)) return step;
  if (table.states[name] === undefined) throw new UnknownStateError(name, Object.keys(table.states));
  throw new UndeclaredTransitionError(from, event, name, targets);
}

/** The handler's step, which has to be there at once. @throws AsyncTransitionError */
export function handleNow(
  table: Table,
  state: NamedState,
  event: TypedEvent,
  from: ReplyTo<never> | undefined,
  data: unknown,
): unknown {
  return atOnce(handleIn(table, state, event, from, data), state, event.type);
}

export function enterNow(table: Table, state: NamedState, previous: NamedState, data: unknown): unknown {
  return atOnce(enterIn(table, state, previous, data), state, "enter");
}

function atOnce(result: unknown, state: NamedState, event: string): unknown {
  if (!isThenable(result)) return result;
  // No other code awaits it, so its rejection must not count as unhandled.
  Promise.resolve(result).catch(() => undefined);
  throw new AsyncTransitionError(state.name, event);
}
