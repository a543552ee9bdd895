// The order of things in a state machine, after OTP's gen_statem: the effects of a step, and which event is handled next. A
// pure machine: the process beside it calls the handlers and reports their results.
//
// After a step, in this order: its actions as they are listed, the enter of a new state, the postponing, the cancellations of a
// state change, the timeouts. The next event is then an inserted one, a postponed one that is retried, a timeout of zero, and
// only then a message. https://www.erlang.org/doc/apps/stdlib/gen_statem.html

import type { Context } from "../../process/context.js";
import { invariant } from "../../process/invariant.js";
import type { ExitReason } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import {
  BadActionError,
  BadEnterActionError,
  BadEnterStepError,
  BadStepError,
  PostponedLimitError,
  UnknownEventError,
  UnknownStateError,
} from "./errors.js";
import { type Action, KEEP, type NamedState, Step, type TimeoutKey, type TypedEvent } from "./moves.js";

/** An event on its way to its handler. */
export interface Arrival {
  readonly event: TypedEvent;
  /** The caller that waits for a reply, if the event is a call. */
  readonly from: ReplyTo<never> | undefined;
}

/** The part of the definition that the order needs. */
export interface Rules {
  /** Each state, and whether it has an `enter`. No prototype. */
  readonly enters: { readonly [state: string]: boolean | undefined };
  readonly events: ReadonlySet<string>;
  readonly maxPostponed: number;
  /** Whether the machine has data that its states share. */
  readonly hasData: boolean;
}

/** A list whose head is taken in constant time and which shares its tail, so that a retry of many events costs little. */
interface List {
  readonly head: Arrival;
  readonly tail: List | undefined;
}

/** A timeout that runs, or one of zero that is due: then its timer is 0. */
interface Timeout {
  readonly key: string;
  readonly timer: number;
  readonly event: TypedEvent;
}

type TimeoutAction = Extract<Action, { key: TimeoutKey }>;

/** A state machine between two events. */
export interface Order {
  readonly rules: Rules;
  /** Changed in place by {@link moved} alone. */
  state: NamedState;
  /** The data that all states share. */
  readonly data: unknown;
  /** Inserted and retried events that have not had their turn, the next one first. */
  readonly queue: List | undefined;
  /** Postponed events, the youngest first. */
  readonly postponed: List | undefined;
  readonly postponedCount: number;
  readonly running: readonly Timeout[];
  /** Timeouts of zero, the next one first. */
  readonly due: readonly Timeout[];
  /** The number of the last timer. */
  readonly lastTimer: number;
}

/** A step under way: what its actions ask for, until the enter of the new state has been called. */
export interface Change {
  /** The state before. The `enter` of the first state gets that state itself. */
  readonly previous: NamedState;
  readonly state: NamedState;
  /** The data after the step. They count from the end of the step on, as the state does. */
  readonly data: unknown;
  readonly arrival: Arrival | undefined;
  /** Whether the name of the state changes. */
  readonly changes: boolean;
  readonly postpones: boolean;
  readonly inserts: readonly TypedEvent[];
  readonly timeouts: readonly TimeoutAction[];
}

export type OrderEvent =
  /** `init` returned: the first state, and the actions with it. */
  | { readonly type: "begun"; readonly step: Step }
  /** A message has its turn. */
  | { readonly type: "arrived"; readonly arrival: Arrival }
  /** A timer has fired and has its turn in the mailbox. */
  | { readonly type: "expired"; readonly timer: number }
  /** The handler of an event returned. */
  | { readonly type: "handled"; readonly arrival: Arrival; readonly step: unknown }
  /** The `enter` of a state returned. */
  | { readonly type: "entered"; readonly change: Change; readonly step: unknown }
  /** The event that was to be handled is a call whose caller has given up. */
  | { readonly type: "passed" }
  /** The callers of these have given up. They may wait, or have had their turn. */
  | { readonly type: "forget"; readonly arrivals: ReadonlySet<Arrival> };

/** `handle`, `enter`, `stop` and `fail` come last: the first two lead to the next event, the others end the machine. */
export type OrderEffect =
  | { readonly type: "handle"; readonly arrival: Arrival }
  | { readonly type: "enter"; readonly change: Change }
  /** The event is postponed: from now on it waits here. */
  | { readonly type: "hold"; readonly arrival: Arrival }
  | { readonly type: "reply"; readonly to: ReplyTo<never>; readonly value: unknown }
  | { readonly type: "refuse"; readonly to: ReplyTo<never>; readonly error: Error }
  | { readonly type: "run" | "task"; readonly effect: (ctx: Context<never>) => unknown }
  | { readonly type: "startTimer"; readonly timer: number; readonly afterMs: number }
  | { readonly type: "cancelTimer"; readonly timer: number }
  /** The machine stops. `state` and `data` are what its `terminate` sees. */
  | ({ readonly type: "stop"; readonly reason: ExitReason } & EndState)
  | ({ readonly type: "fail"; readonly error: Error } & EndState);

/** The state that `terminate` sees. */
export interface EndState {
  readonly state: NamedState;
  readonly data: unknown;
}

type Decision = readonly [Order, readonly OrderEffect[]];

const NOTHING: readonly never[] = /* @__PURE__ */ Object.freeze([]);

/** A machine that is in `state` and has nothing to do. */
export function initial(rules: Rules, state: NamedState, data?: unknown): Order {
  return {
    rules,
    state,
    data,
    queue: undefined,
    postponed: undefined,
    postponedCount: 0,
    running: NOTHING,
    due: NOTHING,
    lastTimer: 0,
  };
}

export function decide(order: Order, event: OrderEvent): Decision {
  switch (event.type) {
    case "arrived":
      return take(order, event.arrival, []);
    case "handled":
      return handled(order, event.arrival, event.step);
    case "entered":
      return entered(order, event.change, event.step);
    case "expired":
      return expired(order, event.timer);
    case "begun":
      return step(order, undefined, event.step, order.rules.enters[order.state.name] === true);
    case "passed":
      return advance(order, []);
    case "forget":
      return [forget(order, event.arrivals), NOTHING];
    default:
      return event satisfies never;
  }
}

// The two shortcuts decide as `decide` does, where that is trivial: an event of a machine without timeouts, and a step that
// does nothing but move, and reply to its call. A property test holds them to it.

/** An event that arrives now has nothing to cancel: to handle it is all there is. */
export function takesAtOnce(order: Order): boolean {
  return order.running.length === 0 && order.due.length === 0;
}

/** Whether the actions ask for nothing but a reply to the call that is being handled. */
function repliesAlone(actions: readonly Action[], { from }: Arrival): boolean {
  const action = actions.length === 1 ? actions[0] : undefined;
  return action?.type === "reply" && action.to === undefined && from !== undefined;
}

/**
 * Makes a step that does nothing but move and reply to its call. False when there is more to decide; then nothing has changed. The
 * order changes in place: most events are such steps, and a new order for each would be their dearest record.
 */
export function moved(order: Order, { type, state, actions }: Step, arrival: Arrival): boolean {
  if (actions.length > 0 && !repliesAlone(actions, arrival)) return false;
  if (order.queue !== undefined || order.due.length > 0) return false;
  if (state === undefined) return type === "keep";
  if (type !== "next") return false;
  const { rules, postponed, running } = order;
  const isChange = state.name !== order.state.name;
  if (isChange && (postponed !== undefined || running.length > 0 || rules.enters[state.name] !== false))
    return false;
  order.state = state;
  return true;
}

/** The timer may have been cancelled while its expiry waited in the mailbox: then nothing happened. */
function expired(order: Order, timer: number): Decision {
  const timeout = order.running.find((one) => one.timer === timer);
  if (timeout === undefined) return [order, NOTHING];
  const running = order.running.filter((one) => one !== timeout);
  return take({ ...order, running }, { event: timeout.event, from: undefined }, []);
}

function handled(order: Order, arrival: Arrival, result: unknown): Decision {
  if (result === KEEP)
    return order.queue === undefined && order.due.length === 0 ? [order, NOTHING] : advance(order, []);
  if (!(result instanceof Step)) {
    const where = `the handler of "${arrival.event.type}" in state "${order.state.name}"`;
    return [order, [failed(order, new BadStepError(where, result))]];
  }
  return step(order, arrival, result, false);
}

/** The effects of a step of a handler or of `init`. */
function step(order: Order, arrival: Arrival | undefined, taken: Step, entersAnyway: boolean): Decision {
  const { type, actions } = taken;
  const state = taken.state ?? order.state;
  const enters = order.rules.enters[state.name];
  if (enters === undefined) return [order, [unknownState(order, state)]];
  const changes = state.name !== order.state.name;
  const begun: Change = {
    previous: order.state,
    state,
    data: dataAfter(actions, order.data),
    arrival,
    changes,
    postpones: false,
    inserts: NOTHING,
    timeouts: NOTHING,
  };
  const effects: OrderEffect[] = [];
  const change = actions.length === 0 ? begun : collect(order.rules, begun, taken, false, effects);
  if (change instanceof Error) return [order, [...effects, failed(begun, change)]];
  if (type === "stop") return [order, [...effects, stopped(taken, change)]];
  if (entersAnyway || (enters && (changes || type === "repeat")))
    return [order, [...effects, { type: "enter", change }]];
  return commit(order, change, effects);
}

function entered(order: Order, before: Change, result: unknown): Decision {
  const fails = (error: Error, effects: readonly OrderEffect[] = []): Decision => [
    order,
    [...effects, failed(before, error)],
  ];
  const { name } = before.state;
  if (!(result instanceof Step)) return fails(new BadStepError(`the enter of state "${name}"`, result));
  if (result.type === "next" && result.state?.name !== name)
    return fails(new BadEnterStepError(name, String(result.state?.name)));
  const effects: OrderEffect[] = [];
  const data = dataAfter(result.actions, before.data);
  const change = collect(
    order.rules,
    { ...before, state: result.state ?? before.state, data },
    result,
    true,
    effects,
  );
  if (change instanceof Error) return fails(change, effects);
  switch (result.type) {
    case "stop":
      return [order, [...effects, stopped(result, change)]];
    case "repeat":
      return [order, [...effects, { type: "enter", change }]];
    default:
      return commit(order, change, effects);
  }
}

function stopped({ reason }: Step, { state, data }: EndState): OrderEffect {
  invariant(reason !== undefined, "a step that stops has a reason");
  return { type: "stop", reason, state, data };
}

function failed({ state, data }: EndState, error: Error): OrderEffect {
  return { type: "fail", error, state, data };
}

function unknownState(order: Order, target: NamedState): OrderEffect {
  const { rules, state } = order;
  const wrong = rules.enters[state.name] === undefined ? state.name : target.name;
  return failed(order, new UnknownStateError(wrong, Object.keys(rules.enters)));
}

/** Of several actions that set the data the last one counts. */
function dataAfter(actions: readonly Action[], before: unknown): unknown {
  let data = before;
  for (const action of actions) if (action?.type === "setData") data = action.data;
  return data;
}

/** Goes through the actions of a step, in their order: replies are sent at once, and the rest is noted in the change. */
function collect(
  rules: Rules,
  change: Change,
  { type, actions }: Step,
  isEnter: boolean,
  effects: OrderEffect[],
): Change | Error {
  let { postpones } = change;
  const inserts = [...change.inserts];
  const timeouts = [...change.timeouts];
  for (const action of actions) {
    const problem = wrongAction(rules, change, action, type, isEnter);
    if (problem !== undefined) return problem;
    switch (action.type) {
      case "reply":
      case "refuse": {
        const to = (action.to ?? change.arrival?.from) as ReplyTo<never>;
        effects.push({ ...action, to });
        break;
      }
      case "run":
      case "task":
        effects.push(action);
        break;
      case "postpone":
        postpones = true;
        break;
      case "insert":
        inserts.push(action.event);
        break;
      case "setData":
        break;
      default:
        timeouts.push(action);
    }
  }
  return { ...change, postpones, inserts, timeouts };
}

/** Why an action may not stand where it stands. */
function wrongAction(
  { events, hasData }: Rules,
  { state, arrival }: Change,
  action: Action,
  step: Step["type"],
  isEnter: boolean,
): Error | undefined {
  const type = (action as Action | undefined | null)?.type;
  const isReply = type === "reply" || type === "refuse";
  if (type === "setData")
    return hasData ? undefined : new BadActionError(action, "the definition has no `data` to make the first");
  if (step === "stop" && !isReply)
    return new BadActionError(action, "a step that stops may only reply and set the data");
  switch (type) {
    case "reply":
    case "refuse":
      if (isEnter && (action as { to?: unknown }).to === undefined)
        return new BadActionError(action, "an enter handles no call; use m.replyTo");
      return (action as { to?: unknown }).to === undefined && arrival?.from === undefined
        ? new BadActionError(action, "no call is being handled")
        : undefined;
    case "postpone":
      if (isEnter) return new BadEnterActionError(state.name, type);
      return arrival === undefined ? new BadActionError(action, "no event is being handled") : undefined;
    case "insert":
      if (isEnter) return new BadEnterActionError(state.name, type);
      return unknownEvent(events, (action as { event: TypedEvent }).event);
    case "startTimeout":
    case "updateTimeout":
      return unknownEvent(events, (action as { event: TypedEvent }).event);
    case "cancelTimeout":
    case "run":
    case "task":
      return undefined;
    default:
      return new BadActionError(action);
  }
}

function unknownEvent(events: ReadonlySet<string>, event: TypedEvent): Error | undefined {
  return events.has(event.type) ? undefined : new UnknownEventError(event.type, [...events]);
}

/** The step is over: the new state counts from here on. */
function commit(order: Order, change: Change, effects: OrderEffect[]): Decision {
  const { state, data, arrival, changes, inserts, timeouts } = change;
  let { queue, postponed, postponedCount } = order;
  if (change.postpones) {
    postponed = { head: arrival as Arrival, tail: postponed };
    postponedCount++;
    effects.push({ type: "hold", arrival: arrival as Arrival });
  }
  if (changes) {
    // The youngest is put in front first, so that the oldest is retried first.
    for (let one = postponed; one !== undefined; one = one.tail) queue = { head: one.head, tail: queue };
    postponed = undefined;
    postponedCount = 0;
  } else if (postponedCount > order.rules.maxPostponed) {
    const error = new PostponedLimitError(state.name, order.rules.maxPostponed);
    return [order, [...effects, failed(change, error)]];
  }
  for (let at = inserts.length - 1; at >= 0; at--)
    queue = { head: { event: inserts[at] as TypedEvent, from: undefined }, tail: queue };
  const table = new Timeouts(order, effects);
  if (changes) table.cancel("state");
  if (timeouts.length > 0) table.apply(timeouts);
  const { running, due, lastTimer } = table;
  return advance(
    { rules: order.rules, state, data, queue, postponed, postponedCount, running, due, lastTimer },
    effects,
  );
}

function forget(order: Order, arrivals: ReadonlySet<Arrival>): Order {
  const postponed = without(order.postponed, arrivals);
  let postponedCount = 0;
  for (let one = postponed; one !== undefined; one = one.tail) postponedCount++;
  return { ...order, queue: without(order.queue, arrivals), postponed, postponedCount };
}

/** The rest of a list, in its order. */
function without(list: List | undefined, arrivals: ReadonlySet<Arrival>): List | undefined {
  const left: Arrival[] = [];
  for (let one = list; one !== undefined; one = one.tail) if (!arrivals.has(one.head)) left.push(one.head);
  let rest: List | undefined;
  for (let at = left.length - 1; at >= 0; at--) rest = { head: left[at] as Arrival, tail: rest };
  return rest;
}

/** Takes what comes before the next message, if there is something. */
function advance(order: Order, effects: OrderEffect[]): Decision {
  const { queue, due } = order;
  if (queue !== undefined) return take({ ...order, queue: queue.tail }, queue.head, effects);
  const [first, ...others] = due;
  if (first === undefined) return [order, effects];
  return take({ ...order, due: others }, { event: first.event, from: undefined }, effects);
}

/** An event has its turn. Every event cancels the event timeout. */
function take(order: Order, arrival: Arrival, effects: OrderEffect[]): Decision {
  if (order.running.length === 0 && order.due.length === 0) {
    effects.push({ type: "handle", arrival });
    return [order, effects];
  }
  const table = new Timeouts(order, effects);
  table.cancel("event");
  effects.push({ type: "handle", arrival });
  return [{ ...order, running: table.running, due: table.due }, effects];
}

/** The timeouts of an order while they are changed. At most one of a key runs or is due. */
class Timeouts {
  running: readonly Timeout[];
  due: readonly Timeout[];
  lastTimer: number;
  private readonly effects: OrderEffect[];

  constructor({ running, due, lastTimer }: Order, effects: OrderEffect[]) {
    this.running = running;
    this.due = due;
    this.lastTimer = lastTimer;
    this.effects = effects;
  }

  /** Of several actions for one timeout the last one counts. */
  apply(actions: readonly TimeoutAction[]): void {
    const last = new Map<string, TimeoutAction>();
    for (const action of actions) {
      const key = keyOf(action.key);
      last.delete(key);
      last.set(key, action);
    }
    for (const [key, action] of last) {
      if (action.type === "updateTimeout") this.update(key, action.event);
      else {
        this.cancel(key);
        if (action.type === "startTimeout") this.start(key, action.afterMs, action.event);
      }
    }
  }

  cancel(key: string): void {
    const found = this.running.find((one) => one.key === key);
    if (found !== undefined) {
      this.running = this.running.filter((one) => one !== found);
      this.effects.push({ type: "cancelTimer", timer: found.timer });
    } else if (this.due.some((one) => one.key === key)) this.due = this.due.filter((one) => one.key !== key);
  }

  private start(key: string, afterMs: number, event: TypedEvent): void {
    if (afterMs === Number.POSITIVE_INFINITY) return;
    if (afterMs === 0) {
      this.due = [...this.due, { key, timer: 0, event }];
      return;
    }
    const timer = ++this.lastTimer;
    this.running = [...this.running, { key, timer, event }];
    this.effects.push({ type: "startTimer", timer, afterMs });
  }

  /** Another event at the same time. A timeout that does not run comes at once. */
  private update(key: string, event: TypedEvent): void {
    const renewed = (one: Timeout): Timeout => (one.key === key ? { ...one, event } : one);
    if (this.running.some((one) => one.key === key)) this.running = this.running.map(renewed);
    else if (this.due.some((one) => one.key === key)) this.due = this.due.map(renewed);
    else this.start(key, 0, event);
  }
}

function keyOf(key: TimeoutKey): string {
  return key.timeout === "named" ? `named ${key.name}` : key.timeout;
}
