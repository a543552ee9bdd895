// A dispatch conversation: the process around conversation-machine.ts, one per dispatch. It links to the consumer before it
// forwards, hears of its end by the EXIT itself, and re-routes in the same turn.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { crash, type ExitReason } from "../process/reason.js";
import type { TimerRef } from "../process/timer.js";
import { describeChosen, findChosen } from "./choice.js";
import { compensate } from "./compensation.js";
import {
  decide,
  type Effect,
  type Event,
  type Failure,
  initial,
  type NoConsumerReason,
  type State,
} from "./conversation-machine.js";
import { Delivery } from "./delivery.js";
import type { Envelope } from "./envelope.js";
import { ConversationError, type DispatchError } from "./errors.js";
import { failureError } from "./failure.js";
import type { ConsumerGroup } from "./group.js";
import { Handoff } from "./handoff.js";
import type { IsolatedRoute } from "./isolated.js";
import type { Member, WaitingDispatch } from "./member.js";
import { type Message, ROOM, WITHDRAWN } from "./messages.js";
import { type Outcome, outcomeOf, type RerouteTiming, timed } from "./outcome.js";
import { type DispatchRequest, waitersFor } from "./request.js";
import { type RoutingFunction, takesOf } from "./route.js";
import type { FullSettings } from "./settings.js";
import "./events.js";

const DONE = stop();
const STOPPED = stop("shutdown");

export class Conversation<T> implements Callbacks<Message<T>>, WaitingDispatch {
  readonly group: ConsumerGroup<T>;
  readonly envelope: Envelope<T>;
  /** The process that this is; set when it has been spawned, before its first turn. */
  process!: Process;
  private state: State<Member> = initial();
  /** Dispatches of the same envelope id join this one. */
  private claims = false;
  private readonly settings: FullSettings<T>;
  private readonly route: RoutingFunction<T> | IsolatedRoute<T>;
  private ctx!: Context<Message<T>>;
  /** Has a place in the group's queue. */
  private queued = false;
  /** It ends when its consumer has settled, or has been stopped. */
  readonly isLast = true;
  /** Counts the times that there was nobody to choose. */
  private patienceTime = 0;
  private patience: TimerRef | undefined = undefined;
  private settledBy: Outcome<T>["settledBy"] = "ack";
  private reply: unknown = undefined;
  private timings: readonly RerouteTiming[] | undefined = undefined;
  /** What the last consumer was given, and its slot with that. */
  private held: Delivery<T> | Handoff | undefined = undefined;
  /** A consumer ended, and its envelope has yet to be forwarded to the next. */
  private rerouting = false;
  /** Names what the envelope has in common with others, to the routing function. */
  private key: string | undefined = undefined;

  constructor(group: ConsumerGroup<T>, envelope: Envelope<T>, settings: FullSettings<T>) {
    this.group = group;
    this.envelope = envelope;
    this.settings = settings;
    this.route = group.route;
  }

  init(ctx: Context<Message<T>>): Stop | undefined {
    this.ctx = ctx;
    return this.apply({ type: "begin" });
  }

  handle(_ctx: Context<Message<T>>, message: Message<T>): Stop | undefined {
    if (message instanceof Delivery) return this.settled(message);
    switch (message.type) {
      case "handoff":
        if (message.attempt !== this.state.attempt) return undefined;
        this.settledBy = "handoff";
        return this.apply({ type: "settled", attempt: message.attempt });
      case "chosen":
        return this.state.phase === "selecting"
          ? this.chosenLate(message.chosen, message.candidates)
          : undefined;
      case "unchosen":
        return this.apply({ type: "misrouted", failure: { type: "evaluation", cause: message.cause } });
      case "impatient":
        return message.time === this.patienceTime ? this.apply({ type: "impatient" }) : undefined;
      case "withdrawn":
        return this.state.phase === "closed" ? DONE : undefined;
      case "room":
        return this.apply(message);
      case "deadline":
        return this.deadline();
      default:
        return message satisfies never;
    }
  }

  signal(ctx: Context<Message<T>>, signal: Signal): Stop | undefined {
    const { consumer } = this.state;
    if (signal.type === "down") {
      const reason = signal.reason.type === "normal" ? undefined : signal.reason;
      return this.apply({ type: "compensated", reason });
    }
    if (signal.type !== "exit" || consumer?.pid !== signal.from) return undefined;
    this.rerouting = true;
    const { reason } = signal;
    const given = this.held instanceof Delivery ? this.held : undefined;
    const at = ctx.now();
    if (given?.untaken === true) return this.apply({ type: "returned", consumer, exited: true, reason, at });
    return this.apply({ type: "exited", consumer, innocent: given?.innocent === true, reason, at });
  }

  /** Called by the group, which is no process: what it says comes as a message. */
  wake(): void {
    this.process.deliver(ROOM);
  }

  private stopWaiting(): void {
    if (!this.queued) return;
    this.queued = false;
    this.group.touched(this.kernel);
    this.group.stopWaiting(this);
  }

  /** From here on dispatches of the same envelope id join this one, until it ends or nobody waits for it. */
  claim(): void {
    this.claims = true;
    this.group.dedup.claim(this.envelope.id, this);
  }

  private disclaim(): void {
    if (!this.claims) return;
    this.claims = false;
    this.group.touched(this.kernel);
    this.group.dedup.release(this.envelope.id);
  }

  /** One who waited gave up. After the last, the envelope is taken back at once; the process ends in its own turn. */
  leave(why: unknown): void {
    this.group.touched(this.kernel);
    if (waitersFor(this.process).length > 0) return;
    this.disclaim();
    this.apply(WITHDRAWN);
    this.held?.abort(why);
    this.process.deliver(WITHDRAWN);
  }

  /** Each who waits has a deadline of its own; the last of them is the conversation's. */
  private deadline(): Stop | undefined {
    const waiters = waitersFor<T>(this.process);
    if (waiters.every((one) => one.overdue)) return this.apply({ type: "deadline" });
    this.group.touched(this.kernel);
    // What the machine says to a deadline holds for each of them: a compensation that has begun is seen through.
    if (this.state.phase === "compensating") return undefined;
    for (const one of waiters) if (one.overdue) one.fail(this.error({ type: "deadline" }, one.timeoutMs));
    return undefined;
  }

  /** The conversation was ended from outside: its envelope is taken back all the same, its consumer unharmed. */
  died(reason: ExitReason): void {
    this.stopWaiting();
    const { group, envelope } = this;
    const { phase, consumer, history } = this.state;
    if (phase === "delivered" && consumer !== undefined) this.withdraw(consumer);
    this.disclaim();
    const error = new ConversationError(group.name, "died", reason, envelope, history);
    this.held?.abort(error);
    for (const one of waitersFor(this.process)) one.fail(error);
  }

  private settled(delivery: Delivery<T>): Stop | undefined {
    const { settlement, attempt } = delivery;
    if (settlement === undefined || attempt !== this.state.attempt) return undefined;
    const { consumer } = this.state;
    if (settlement.type === "returned") {
      if (consumer === undefined) return undefined;
      const { reason } = settlement;
      return this.apply({ type: "returned", consumer, exited: false, reason, at: this.ctx.now() });
    }
    if (settlement.type === "rejected") {
      const { reason, final } = settlement;
      return this.apply({ type: "rejected", attempt, reason, final, at: this.ctx.now() });
    }
    this.settledBy = settlement.replied ? "reply" : "ack";
    this.reply = settlement.value;
    return this.apply({ type: "settled", attempt });
  }

  private apply(event: Event<Member>): Stop | undefined {
    const [state, effects] = decide(this.settings, this.state, event);
    this.state = state;
    let end: Stop | undefined;
    for (let i = 0; i < effects.length; i++) end = this.carry(effects[i] as Effect<Member>) ?? end;
    return end;
  }

  private carry(effect: Effect<Member>): Stop | undefined {
    switch (effect.type) {
      case "select":
        return this.select();
      case "wait":
        return this.wait(effect.consumer);
      case "stop-waiting":
        this.stopWaiting();
        return undefined;
      case "start-patience":
        this.startPatience();
        return undefined;
      case "stop-patience":
        if (this.patience !== undefined) this.ctx.cancel(this.patience);
        this.patienceTime++;
        return undefined;
      case "deliver":
        return this.deliver(effect.consumer, effect.attempt);
      case "release":
        this.held?.free();
        // An EXIT that is queued already is of nobody that this conversation has to do with any more.
        if (!effect.exited) this.kernel.links.unlink(this.process, effect.consumer.pid);
        return undefined;
      case "withdraw":
        this.withdraw(effect.consumer);
        return undefined;
      case "compensate":
        compensate(this.ctx as Context<never>, this.envelope, this.settings, {
          consumer: effect.consumer.id,
          attempt: this.state.attempt,
        });
        return undefined;
      case "complete":
        this.complete(effect.consumer);
        return undefined;
      case "fail":
        this.fail(effect.failure, effect.deadLetter);
        return undefined;
      case "end":
        this.stopWaiting();
        return DONE;
      default:
        return effect satisfies never;
    }
  }

  private select(): Stop | undefined {
    const { group } = this;
    group.touched(this.kernel);
    group.isOffering = this.queued && group.isOffered(this);
    try {
      return this.choose();
    } finally {
      group.isOffering = false;
    }
  }

  private choose(): Stop | undefined {
    const { ctx, group, route, envelope, state, kernel } = this;
    const candidates = group.candidates(kernel, state.excluded);
    if (candidates.length === 0) {
      return this.unselected(state.excluded.length === 0 ? "empty" : "excluded");
    }
    let chosen: unknown;
    try {
      if (typeof route !== "function") {
        const context = group.context(undefined, candidates, ctx.random());
        const tell = (message: Message<T>): void => {
          if (ctx.alive) ctx.send(ctx.self, message);
        };
        route.choose(kernel, envelope, candidates, context, ctx.signal).then(
          (id) => tell({ type: "chosen", chosen: id, candidates }),
          (cause) => tell({ type: "unchosen", cause }),
        );
        return undefined;
      }
      this.key = route.affinityKey?.(envelope);
      chosen = route(envelope, candidates, group.context(this.key, candidates, ctx.random()));
    } catch (cause) {
      return this.apply({ type: "misrouted", failure: { type: "evaluation", cause } });
    }
    return this.chosen(chosen, candidates);
  }

  /** The choice was made elsewhere, which took its time: one that has left or ended since is no candidate any more. */
  private chosenLate(chosen: unknown, before: readonly Member[]): Stop | undefined {
    const consumer = findChosen(before, chosen);
    const now = this.group.candidates(this.kernel, this.state.excluded);
    return consumer === undefined || now.includes(consumer) ? this.chosen(chosen, before) : this.select();
  }

  private chosen(chosen: unknown, candidates: readonly Member[]): Stop | undefined {
    if (chosen === undefined) return this.unselected("none");
    const consumer = findChosen(candidates, chosen);
    if (consumer === undefined) {
      return this.apply({
        type: "misrouted",
        failure: { type: "unknown-consumer", selected: describeChosen(chosen) },
      });
    }
    return this.apply({ type: "selected", consumer, pressure: consumer.pressure });
  }

  /** Link before forward: from here on no end of the consumer goes unheard. */
  private deliver(consumer: Member, attempt: number): Stop | undefined {
    const { ctx, envelope, group, kernel, key, settings } = this;
    const held = consumer.acknowledges
      ? new Delivery(envelope, attempt, this.process, consumer)
      : new Handoff(consumer, kernel, settings.handoffMs);
    this.held = held;
    this.stopWaiting();
    if (key !== undefined) group.remember(key, consumer);
    ctx.link(consumer.pid);
    try {
      if (held instanceof Delivery) consumer.pid.process?.deliverRequest(held);
      else {
        kernel.send(consumer.pid, envelope.payload);
        ctx.sendAfter(ctx.self, { type: "handoff", attempt }, settings.handoffMs);
      }
    } catch (error) {
      // Its bounded mailbox is full: another consumer's turn.
      return this.apply({ type: "rejected", attempt, reason: crash(error), final: false, at: ctx.now() });
    }
    if (this.rerouting) {
      this.rerouting = false;
      this.timings = timed(this.timings, this.state.history, ctx.now());
    }
    return undefined;
  }

  /** The dispatch ends, and its consumer has not settled. */
  private withdraw(consumer: Member): void {
    this.kernel.links.unlink(this.process, consumer.pid);
    this.held?.withdraw();
  }

  private unselected(why: NoConsumerReason): Stop | undefined {
    // Nobody will come any more, and that is no fault of the envelope's.
    if (this.kernel.stopping) return STOPPED;
    return this.apply({ type: "unselected", why, patient: this.settings.patienceMs > 0 });
  }

  private wait(at: Member | undefined): Stop | undefined {
    const { group, route, state } = this;
    const { excluded, attempt } = state;
    const takes = takesOf(route);
    const { priority = 0 } = this.envelope;
    this.queued = group.wait(this, { priority, urgent: attempt > 0, takes, at, excluded });
    return this.queued ? undefined : this.apply({ type: "turned-away" });
  }

  private startPatience(): void {
    const { patienceMs } = this.settings;
    if (patienceMs === Number.POSITIVE_INFINITY) return;
    const message: Message<T> = { type: "impatient", time: this.patienceTime };
    this.patience = this.ctx.sendAfter(this.ctx.self, message, patienceMs);
  }

  private complete(consumer: Member): void {
    const { envelope, settledBy, reply, state, timings } = this;
    const outcome = outcomeOf(envelope, consumer, settledBy, reply, state, timings);
    if (this.claims) {
      this.group.touched(this.kernel);
      this.group.dedup.complete(this.envelope.id, outcome, this.ctx.now());
    }
    for (const one of waitersFor<T>(this.process)) one.fulfil(outcome);
  }

  /** One error for all who wait, but that a deadline is each one's own. */
  private fail(failure: Failure, deadLetter: boolean): void {
    const error = this.error(failure, this.settings.deadlineMs);
    const own = (one: DispatchRequest<unknown>): boolean =>
      failure.type === "deadline" && one.timeoutMs !== this.settings.deadlineMs;
    this.held?.abort(error);
    if (deadLetter) this.deadLetter(error);
    this.disclaim();
    for (const one of waitersFor(this.process))
      one.fail(own(one) ? this.error(failure, one.timeoutMs) : error);
  }

  private error(failure: Failure, deadlineMs: number): DispatchError {
    return failureError(failure, this.group.name, deadlineMs, this.envelope, this.state.history);
  }

  private deadLetter(error: DispatchError): void {
    const { events } = this.kernel;
    const { envelope, history } = error;
    events.deadLetters++;
    if (events.wants.undeliverable)
      events.publish("undeliverable", { group: this.group.name, envelope, history, error });
  }

  private get kernel(): Kernel {
    return this.process.kernel;
  }
}
