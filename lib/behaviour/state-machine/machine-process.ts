// The process of a state machine: it calls handlers, tells the order machine what they returned, and carries out the effects.
//
// Each event that a machine handles is a step of its process, as a message is: an event that the machine itself has caused comes next,
// before all waiting ones, but in a step of its own. So a machine that feeds itself blocks neither its host nor a request to end it.

import { type Callbacks, ignore, Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import {
  ContextMessage,
  GONE,
  type Holder,
  isSpecial,
  type Signal,
  SignalEntry,
  TaskEntry,
  type Withdrawable,
} from "../../process/entries.js";
import type { Inspected } from "../../process/inspected.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Process } from "../../process/process.js";
import type { ExitReason } from "../../process/reason.js";
import { Request, replyAddress } from "../../process/request.js";
import { captureSenderContext } from "../../process/sender-context.js";
import { isThenable } from "../../process/thenable.js";
import { Cast } from "../handle/methods.js";
import { BadStepError, UnknownEventError } from "./errors.js";
import { moves, type NamedState, Step, type TypedEvent } from "./moves.js";
import {
  type Arrival,
  type Change,
  decide,
  type EndState,
  initial,
  moved,
  type Order,
  type OrderEffect,
  type OrderEvent,
  takesAtOnce,
} from "./order-machine.js";
import { cellIn, declared, enterIn, handleIn, initIn, isEventOf, type Table } from "./table.js";

/** The kind of a state machine in inspections. */
export const STATE_MACHINE = "state machine";

/** A call as the machine receives it. The request itself is the message, and the arrival. */
export class CallEvent extends Request implements Arrival {
  readonly event: TypedEvent;
  constructor(event: TypedEvent) {
    super();
    this.event = event;
    this.message = this;
  }
  get from(): Arrival["from"] {
    return replyAddress(this) as Arrival["from"];
  }
  /** The name of the call in telemetry. */
  get method(): string {
    return this.event.type;
  }
}

/** A cast as the machine receives it, and the event of an effect. */
export class CastEvent extends Cast implements Arrival {
  readonly event: TypedEvent;
  readonly from: undefined = undefined;
  constructor(event: TypedEvent) {
    super();
    this.event = event;
  }
  get method(): string {
    return this.event.type;
  }
}

/** The request of a handle to stop the machine. */
export class StopMachine {
  readonly reason: ExitReason;
  constructor(reason: ExitReason) {
    this.reason = reason;
  }
}

export class MachineProcess implements Callbacks<never>, Holder {
  private table: Table;
  private readonly args: readonly unknown[];
  private order: Order;
  /** The start, until its actions and the first `enter` are done. */
  private begun: Step | undefined = undefined;
  /** The state that `terminate` sees, if it is not the state of the order. */
  private end: EndState | undefined = undefined;
  private readonly timers: Map<number, TimerRef> = new Map();
  /** How many calls wait among the postponed and retried events, and those of them whose callers have given up. */
  private held = 0;
  private readonly gone: Set<Arrival> = new Set();
  terminate?: (ctx: Context<never>, reason: ExitReason) => unknown;

  constructor(table: Table, args: readonly unknown[]) {
    this.table = table;
    this.args = args;
    this.order = initial(table.rules, { name: table.initial[0] as string });
    // Without `terminate` a process ends faster.
    if (table.terminate !== undefined) this.terminate = this.terminated;
  }

  /** The event that the machine handles when it runs next, after events of its own; for reports. */
  ownEvent: TypedEvent | undefined = undefined;

  /** The name of the present state, for reports. */
  get stateName(): string {
    return this.order.state.name;
  }

  init(ctx: Context<never>): unknown {
    const { data } = this.table;
    const made = data?.(ctx, ...this.args);
    return isThenable(made)
      ? Promise.resolve(made).then((late) => this.first(ctx, late))
      : this.first(ctx, made);
  }

  /** Makes the first state, with the data at hand. */
  private first(ctx: Context<never>, data: unknown): unknown {
    const made = initIn(this.table, ctx, data, this.args);
    return isThenable(made)
      ? Promise.resolve(made).then((state) => this.start(ctx, state, data))
      : this.start(ctx, made, data);
  }

  /** As in OTP the machine has started when its `init` has returned, and its first `enter` comes after that. */
  private start(ctx: Context<never>, made: unknown, data: unknown): unknown {
    if (made instanceof Stop || made === ignore) return made;
    if (made instanceof Step && made.reason !== undefined) return stop(made.reason);
    const step = made instanceof Step ? made : isNamed(made) ? moves.next(made) : undefined;
    if (step?.state === undefined) throw new BadStepError("init", made);
    declared(this.table, this.table.initial, "", "init", step);
    this.order = initial(this.table.rules, step.state, data);
    if (step.actions.length === 0 && this.table.states[step.state.name]?.enter === undefined)
      return undefined;
    this.begun = step;
    processOf(ctx).deliverSignal(new TaskEntry(() => this.begin(ctx)));
    return undefined;
  }

  private begin(ctx: Context<never>): unknown {
    const step = this.begun;
    if (step === undefined) return undefined;
    this.begun = undefined;
    return this.loop(ctx, { type: "begun", step });
  }

  /** The actions of `init` and the first `enter` come before the first message, whenever that arrived. */
  private beginBefore(ctx: Context<never>, entry: unknown): unknown {
    processOf(ctx).putBack([entry]);
    return this.begin(ctx);
  }

  handle(ctx: Context<never>, message: unknown): unknown {
    if (this.begun !== undefined) return this.beginBefore(ctx, carried(ctx, message));
    if (message instanceof CallEvent || message instanceof CastEvent) return this.arrived(ctx, message);
    if (message instanceof StopMachine) return stop(message.reason);
    return this.receive(ctx, message, this.table.info as Translation);
  }

  signal(ctx: Context<never>, signal: Signal): unknown {
    if (this.begun !== undefined) return this.beginBefore(ctx, new SignalEntry(signal));
    return this.receive(ctx, signal, this.table.signal as Translation);
  }

  parentExit(ctx: Context<never>, reason: ExitReason): unknown {
    if (this.begun === undefined) return stop(reason);
    return this.beginBefore(ctx, new TaskEntry(() => stop(reason)));
  }

  /** A message or a signal, which the definition may turn into an event. */
  private receive(ctx: Context<never>, message: unknown, toEvent: Translation): unknown {
    const event = toEvent?.(message, this.order.data);
    if (event === undefined) {
      if (message instanceof Request) message.refuse(new UnknownEventError(message, this.table.events));
      return unhandled(ctx, message);
    }
    if (!isEventOf(this.table, event)) throw new UnknownEventError(event, this.table.events);
    return this.loop(ctx, { type: "arrived", arrival: new CastEvent(event) });
  }

  /** An event that a handle sent, by the shortcuts where they do. */
  private arrived(ctx: Context<never>, arrival: CastEvent | CallEvent): unknown {
    const { order, table } = this;
    const { event } = arrival;
    const cell = cellIn(table, order.state, event);
    if (cell === undefined && !isEventOf(table, event)) {
      const error = new UnknownEventError(event, table.events);
      return arrival instanceof CallEvent ? arrival.refuse(error) : unhandled(ctx, arrival);
    }
    if (!takesAtOnce(order)) return this.loop(ctx, { type: "arrived", arrival });
    const step = handleIn(table, order.state, event, arrival.from, order.data, cell);
    if (!(step instanceof Step)) return this.resume(ctx, handledEvent(arrival, step));
    if (!moved(order, step, arrival)) return this.loop(ctx, { type: "handled", arrival, step });
    const [reply] = step.actions;
    if (reply !== undefined) (arrival as CallEvent).answer((reply as { value: unknown }).value);
    return undefined;
  }

  /**
   * Lets the order decide until it waits for a message, or for the next step of the process. Returns the Stop that ends the process, or
   * a promise of that.
   */
  private loop(ctx: Context<never>, first: OrderEvent): unknown {
    // A message is handled in its own step. The events that it causes are not.
    let isOwnStep = first.type === "arrived" || first.type === "expired";
    let event: OrderEvent | undefined = first;
    while (event !== undefined) {
      const isRepeat: boolean = event.type === "entered";
      // A postponed call whose caller has given up must not take the place of another event.
      if (this.gone.size > 0 && this.order.postponedCount >= this.table.rules.maxPostponed) this.forget();
      const decision: ReturnType<typeof decide> = decide(this.order, event);
      this.order = decision[0];
      event = undefined;
      for (const effect of decision[1]) {
        if (!ctx.alive) return undefined;
        if ((effect.type === "handle" && !isOwnStep) || (effect.type === "enter" && isRepeat)) {
          this.later(ctx, effect);
          return undefined;
        }
        if (effect.type === "handle") isOwnStep = false;
        const next: unknown = this.carryOut(ctx, effect);
        if (next === undefined) continue;
        if (next instanceof Stop) return next;
        if (isThenable(next)) return this.resume(ctx, next);
        event = next as OrderEvent;
      }
    }
    return undefined;
  }

  /** Carries an effect out in the next step of the process. */
  private later(ctx: Context<never>, effect: OrderEffect): void {
    this.ownEvent = effect.type === "handle" ? effect.arrival.event : undefined;
    processOf(ctx).runNext(() => this.resume(ctx, this.carryOut(ctx, effect)));
  }

  /** Goes on with an event, or when it is there: the process takes no message meanwhile. */
  private resume(ctx: Context<never>, event: unknown): unknown {
    if (!isThenable(event)) return this.loop(ctx, event as OrderEvent);
    return Promise.resolve(event).then((late) =>
      ctx.alive ? this.loop(ctx, late as OrderEvent) : undefined,
    );
  }

  /** Returns the event that an effect leads to, a promise of it, or the Stop that ends the process. */
  private carryOut(ctx: Context<never>, effect: OrderEffect): unknown {
    switch (effect.type) {
      case "handle":
        return this.passes(effect.arrival) ? PASSED : this.call(effect.arrival);
      case "hold":
        this.hold(effect.arrival);
        return undefined;
      case "enter":
        return this.enter(effect.change);
      case "reply":
        (effect.to as unknown as Request).answer(effect.value);
        return undefined;
      case "refuse":
        (effect.to as unknown as Request).refuse(effect.error);
        return undefined;
      case "run":
      case "task":
        this.run(ctx, effect.effect, effect.type === "task");
        return undefined;
      case "startTimer":
        this.startTimer(ctx, effect.timer, effect.afterMs);
        return undefined;
      case "cancelTimer":
        this.cancelTimer(ctx, effect.timer);
        return undefined;
      case "stop":
        this.end = effect;
        return new Stop(effect.reason);
      case "fail":
        this.end = effect;
        throw effect.error;
      default:
        return effect satisfies never;
    }
  }

  // ── calls that wait among the postponed events ────────────────────────────────────────────────────────────────

  private hold(arrival: Arrival): void {
    if (!(arrival instanceof CallEvent)) return;
    if (arrival.isWithdrawn) {
      arrival.queuedIn = GONE;
      this.gone.add(arrival);
    } else if (arrival.open) arrival.queuedIn = this;
    else return;
    this.held++;
  }

  /** A call that was postponed has ended. */
  withdraw(entry: Withdrawable): void {
    entry.queuedIn = GONE;
    this.gone.add(entry as CallEvent);
    // When more than half of the postponed calls have ended, remove them.
    if (this.gone.size * 2 > this.held) this.forget();
  }

  private forget(): void {
    [this.order] = decide(this.order, { type: "forget", arrivals: this.gone });
    this.held -= this.gone.size;
    this.gone.clear();
  }

  /** Whether an event is skipped: it is a call, and its caller does not wait any more. */
  private passes(arrival: Arrival): boolean {
    if (!(arrival instanceof CallEvent)) return false;
    const { queuedIn } = arrival;
    arrival.queuedIn = undefined;
    if (queuedIn === this || this.gone.delete(arrival)) this.held--;
    return queuedIn === GONE;
  }

  private call(arrival: Arrival): unknown {
    const { state, data } = this.order;
    const step = handleIn(this.table, state, arrival.event, arrival.from, data);
    return handledEvent(arrival, step);
  }

  private enter(change: Change): unknown {
    const { state, previous, data } = change;
    const step = enterIn(this.table, state, previous, data);
    if (step instanceof Step || !isThenable(step)) return { type: "entered", change, step };
    return Promise.resolve(step).then((late) => ({ type: "entered", change, step: late }));
  }

  private run(ctx: Context<never>, effect: (ctx: Context<never>) => unknown, sends: boolean): void {
    const process = processOf(ctx);
    const result = effect(ctx);
    if (!isThenable(result)) {
      if (sends) this.send(process, result);
      return;
    }
    process.kernel.scheduler.resumed(process);
    Promise.resolve(result).then(
      (event) => sends && process.alive && process.perform(() => this.send(process, event)),
      (error) => process.failed(error, undefined),
    );
  }

  /** The event of a task takes its place behind the messages that wait. */
  private send(process: Process, event: unknown): void {
    if (event === undefined) return;
    if (!isEventOf(this.table, event)) throw new UnknownEventError(event, this.table.events);
    process.deliver(new CastEvent(event));
  }

  private startTimer(ctx: Context<never>, timer: number, afterMs: number): void {
    const ref = ctx.runAfter(afterMs, () => {
      this.timers.delete(timer);
      return this.loop(ctx, { type: "expired", timer });
    });
    this.timers.set(timer, ref);
  }

  private cancelTimer(ctx: Context<never>, timer: number): void {
    const ref = this.timers.get(timer);
    if (ref !== undefined) ctx.cancel(ref);
    this.timers.delete(timer);
  }

  private terminated(_ctx: Context<never>, reason: ExitReason): unknown {
    const { state, data } = this.end ?? this.order;
    return this.table.terminate?.(state as never, reason, data);
  }

  inspected(): Inspected {
    const { table } = this;
    const { format } = table;
    return {
      kind: STATE_MACHINE,
      // Beside data it is both, as `sys:get_state` gives both of a gen_statem.
      state: () => (table.rules.hasData ? whole(this.order) : this.order.state),
      format:
        format === undefined
          ? undefined
          : table.rules.hasData
            ? ({ state, data }: EndState) => format(state as never, data)
            : (state: NamedState) => format(state as never, undefined),
      swap: {
        definition: table,
        replace: (definition, made) => {
          const successor = definition as Table;
          const { rules } = successor;
          const { state, data } = (rules.hasData ? (made ?? {}) : { state: made }) as EndState;
          this.table = successor;
          this.order = { ...this.order, rules, state, data };
          this.terminate = this.terminated;
        },
      },
    };
  }
}

type Translation = ((message: unknown, data: unknown) => unknown) | undefined;

function whole({ state, data }: EndState): EndState {
  return { state, data };
}

const PASSED: OrderEvent = { type: "passed" };

/** A message that has been taken, as its mailbox held it. */
function carried(ctx: Context<never>, message: unknown): unknown {
  if (isSpecial(message)) return message;
  const context = captureSenderContext(processOf(ctx).kernel);
  return context === undefined ? message : new ContextMessage(message, context);
}

/** The event that a handler's result is for the order, or a promise of it. */
function handledEvent(arrival: Arrival, step: unknown): unknown {
  if (step instanceof Step || !isThenable(step)) return { type: "handled", arrival, step };
  return Promise.resolve(step).then((late) => ({ type: "handled", arrival, step: late }));
}

function isNamed(value: unknown): value is NamedState {
  return typeof (value as NamedState | undefined | null)?.name === "string";
}

function processOf(ctx: Context<never>): Process {
  return ctx.self.process as Process;
}

function unhandled(ctx: Context<never>, message: unknown): undefined {
  const process = processOf(ctx);
  process.kernel.deadLetter(process.pid, message, "unhandled");
}
