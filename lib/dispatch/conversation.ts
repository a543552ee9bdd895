// A dispatch conversation: the process around machine.ts, one per dispatch. It links to the consumer before it
// forwards, hears of its end by the EXIT itself, and re-routes in the same turn.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import { settleHere } from "../process/carrying.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { crash, type ExitReason } from "../process/reason.js";
import { among, nameOf } from "./choice.js";
import type { Registration, Waiter } from "./consumer.js";
import { Delivery } from "./delivery.js";
import type { Envelope } from "./envelope.js";
import { ConversationError, type DispatchError } from "./errors.js";
import { failureError } from "./failure.js";
import type { ConsumerGroup, FullSettings } from "./group.js";
import { IsolatedRoute } from "./isolated.js";
import { decide, type Effect, type Event, type Failure, initial, type State } from "./machine.js";
import type { Outcome, RerouteTiming } from "./outcome.js";
import { type DEADLINE, waitersFor } from "./request.js";
import type { RoutingFunction } from "./route.js";
import "./events.js";

const WITHDRAWN = { type: "withdrawn" } as const;
const ROOM = { type: "room" } as const;
const DONE = stop();

type Message<T> =
  | Delivery<T>
  | typeof DEADLINE
  | typeof WITHDRAWN
  | typeof ROOM
  | { readonly type: "impatient" }
  | { readonly type: "handoff"; readonly attempt: number }
  | { readonly type: "chosen"; readonly chosen: unknown; readonly candidates: readonly Registration[] }
  | { readonly type: "unchosen"; readonly cause: unknown };

export class Conversation<T> implements Callbacks<Message<T>>, Waiter {
  readonly group: ConsumerGroup<T>;
  readonly envelope: Envelope<T>;
  /** The process that this is; set when it has been spawned, before its first turn. */
  process!: Process;
  private state: State<Registration> = initial();
  /** Dispatches of the same envelope id join this one. */
  private claims = false;
  private readonly settings: FullSettings<T>;
  private readonly route: RoutingFunction<T> | IsolatedRoute<T>;
  private ctx!: Context<Message<T>>;
  wokenBy = 0;
  /** Lost its consumer: it is ahead of those that have not had one yet. */
  get urgent(): boolean {
    return this.state.attempt > 0;
  }

  /** Woken, and has yet to choose. */
  private woken = false;
  /** Whose vacancy it was woken for, until that is used or offered on. */
  private wokenFor: Registration | undefined = undefined;
  private waitingAt: Registration | undefined = undefined;
  private patient: boolean;
  private settledBy: Outcome<T>["settledBy"] = "ack";
  private reply: unknown = undefined;
  private timings: RerouteTiming[] | undefined = undefined;
  /** What the current consumer was given, if it acknowledges. */
  private delivery: Delivery<T> | undefined = undefined;
  /** A consumer ended, and its envelope has yet to be forwarded to the next. */
  private rerouting = false;
  /** Names what the envelope has in common with others, to the routing function. */
  private key: string | undefined = undefined;

  constructor(group: ConsumerGroup<T>, envelope: Envelope<T>, settings: FullSettings<T>) {
    this.group = group;
    this.envelope = envelope;
    this.settings = settings;
    this.route = group.route;
    this.patient = settings.patience > 0;
  }

  init(ctx: Context<Message<T>>): Stop | undefined {
    this.ctx = ctx;
    if (this.patient && this.settings.patience !== Number.POSITIVE_INFINITY) {
      ctx.sendAfter(ctx.self, { type: "impatient" }, this.settings.patience);
    }
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
        this.patient = false;
        return this.state.phase === "waiting" && this.waitingAt === undefined ? this.retry() : undefined;
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
    const type = this.delivery?.untaken === true ? "returned" : "exited";
    return this.apply({ type, consumer, reason: signal.reason, at: ctx.now() });
  }

  /** Called by the group, which is no process: what it says comes as a message. */
  wake(vacancy: number, consumer: Registration | undefined): boolean {
    this.group.stopWaiting(this, this.waitingAt);
    if (!this.process.alive) return false;
    this.woken = true;
    this.wokenBy = vacancy;
    this.wokenFor = consumer;
    this.process.deliver(ROOM);
    return true;
  }

  /** A vacancy that this conversation was woken for and does not use is somebody else's. */
  private decided(used: Registration | undefined): void {
    if (!this.woken) return;
    const { wokenFor } = this;
    this.woken = false;
    this.wokenFor = undefined;
    this.group.decided();
    if (wokenFor !== undefined && wokenFor !== used) this.group.offer(wokenFor, this.wokenBy);
  }

  /** From here on dispatches of the same envelope id join this one, until it ends or nobody waits for it. */
  claim(): void {
    this.claims = true;
    this.group.dedup.claim(this.envelope.id, this);
  }

  private disclaim(): void {
    if (!this.claims) return;
    this.claims = false;
    this.group.dedup.release(this.envelope.id);
  }

  /** One who waited gave up. After the last, what is held is given back at once; the process ends in its own turn. */
  leave(): void {
    this.group.touched(this.kernel);
    if (waitersFor(this.process).length > 0) return;
    this.disclaim();
    this.apply(WITHDRAWN);
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

  /** The conversation was ended from outside: what it held is given back all the same, its consumer unharmed. */
  died(reason: ExitReason): void {
    this.group.stopWaiting(this, this.waitingAt);
    this.decided(undefined);
    const { group, envelope } = this;
    const { phase, consumer, history } = this.state;
    if (phase === "delivered" && consumer !== undefined) {
      this.kernel.links.unlink(this.process, consumer.pid);
      consumer.inFlight--;
      group.room(consumer);
    }
    this.disclaim();
    const error = new ConversationError(group.name, "died", reason, envelope, history);
    for (const one of waitersFor(this.process)) one.fail(error);
  }

  private settled(delivery: Delivery<T>): Stop | undefined {
    const { settlement, attempt } = delivery;
    if (settlement === undefined || attempt !== this.state.attempt) return undefined;
    if (settlement.type === "rejected") {
      const { reason, final } = settlement;
      return this.apply({ type: "rejected", attempt, reason, final, at: this.ctx.now() });
    }
    this.settledBy = settlement.replied ? "reply" : "ack";
    this.reply = settlement.value;
    return this.apply({ type: "settled", attempt });
  }

  private apply(event: Event<Registration>): Stop | undefined {
    this.group.touched(this.kernel);
    const [state, effects] = decide(this.settings, this.state, event);
    this.state = state;
    let end: Stop | undefined;
    for (const effect of effects) end = this.carry(effect) ?? end;
    return end;
  }

  private carry(effect: Effect<Registration>): Stop | undefined {
    switch (effect.type) {
      case "select":
        return this.select();
      case "wait":
        return this.wait(effect.consumer);
      case "stop-waiting":
        this.group.stopWaiting(this, this.waitingAt);
        return undefined;
      case "deliver":
        return this.deliver(effect.consumer, effect.attempt);
      case "release":
        effect.consumer.inFlight--;
        // An EXIT that is queued already is of nobody that this conversation has to do with any more.
        if (!effect.exited) this.kernel.links.unlink(this.process, effect.consumer.pid);
        this.group.room(effect.consumer);
        return undefined;
      case "compensate":
        this.compensate(effect.consumer);
        return undefined;
      case "complete":
        this.complete(effect.consumer);
        return undefined;
      case "fail":
        this.fail(effect.failure, effect.deadLetter);
        return undefined;
      case "end":
        this.decided(undefined);
        return DONE;
      default:
        return effect satisfies never;
    }
  }

  private select(): Stop | undefined {
    const { ctx, group, route, envelope, state, kernel } = this;
    const candidates = group.candidates(kernel, state.excluded);
    if (candidates.length === 0) {
      const why = state.excluded.length === 0 ? "empty" : "excluded";
      return this.apply({ type: "unselected", why, patient: this.patient });
    }
    let chosen: unknown;
    try {
      if (route instanceof IsolatedRoute) {
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
  private chosenLate(chosen: unknown, before: readonly Registration[]): Stop | undefined {
    const consumer = among(before, chosen);
    const now = this.group.candidates(this.kernel, this.state.excluded);
    return consumer === undefined || now.includes(consumer) ? this.chosen(chosen, before) : this.select();
  }

  private chosen(chosen: unknown, candidates: readonly Registration[]): Stop | undefined {
    if (chosen === undefined) return this.apply({ type: "unselected", why: "none", patient: this.patient });
    const consumer = among(candidates, chosen);
    if (consumer === undefined) {
      return this.apply({
        type: "misrouted",
        failure: { type: "unknown-consumer", selected: nameOf(chosen) },
      });
    }
    return this.apply({ type: "selected", consumer, pressure: consumer.pressure });
  }

  /** Link before forward: from here on no end of the consumer goes unheard. */
  private deliver(consumer: Registration, attempt: number): Stop | undefined {
    const { ctx, envelope, group, kernel, key } = this;
    this.decided(consumer);
    consumer.inFlight++;
    consumer.delivered++;
    if (key !== undefined) group.remember(key, consumer);
    ctx.link(consumer.pid);
    try {
      if (consumer.acknowledges) {
        this.delivery = new Delivery(envelope, attempt, this.process, consumer.pid.process);
        consumer.pid.process?.deliverRequest(this.delivery);
      } else {
        this.delivery = undefined;
        kernel.send(consumer.pid, envelope.payload);
        ctx.sendAfter(ctx.self, { type: "handoff", attempt }, this.settings.handoff);
      }
    } catch (error) {
      // Its bounded mailbox is full: another consumer's turn.
      return this.apply({ type: "rejected", attempt, reason: crash(error), final: false, at: ctx.now() });
    }
    if (this.rerouting) this.noteReroute();
    return undefined;
  }

  private noteReroute(): void {
    this.rerouting = false;
    // Between that end and now there may be a consumer whose mailbox was full.
    const ended = this.state.history.findLast((one) => one.end !== "rejected");
    if (ended === undefined) return;
    const { consumer, reason, at: exitAt } = ended;
    const reroutedAt = this.ctx.now();
    this.timings ??= [];
    this.timings.push({ consumer, reason, exitAt, reroutedAt, elapsedMs: reroutedAt - exitAt });
  }

  private wait(consumer: Registration | undefined): Stop | undefined {
    this.waitingAt = consumer;
    this.decided(undefined);
    return this.group.wait(this, consumer) ? undefined : this.apply({ type: "turned-away" });
  }

  private retry(): Stop | undefined {
    this.group.stopWaiting(this, this.waitingAt);
    return this.apply({ type: "room" });
  }

  /** The compensation is a process too: linked to nothing, watched over, and killed when it takes too long. */
  private compensate(consumer: Registration): void {
    const { ctx, envelope, settings, state } = this;
    const body = async (): Promise<void> => {
      await settings.compensate?.(envelope, { consumer: consumer.id, attempt: state.attempt });
    };
    const pid = settleHere(ctx.spawnMonitor(body, { label: `compensation of ${envelope.id}` }).pid);
    const ms = settings.compensationTimeout;
    if (ms !== Number.POSITIVE_INFINITY) ctx.after(ms, () => ctx.exit(pid, "kill"));
  }

  private complete(consumer: Registration): void {
    const { history, attempt } = this.state;
    const outcome: Outcome<T> = {
      envelope: this.envelope,
      deliveredTo: consumer.id,
      pid: consumer.pid,
      settledBy: this.settledBy,
      reply: this.reply,
      attempts: attempt,
      reroutedFrom: history.length === 0 ? NONE : history.map((one) => one.consumer),
      rerouteTimings: this.timings ?? NO_TIMINGS,
      duplicate: false,
    };
    if (this.claims) this.group.dedup.complete(this.envelope.id, outcome, this.ctx.now());
    for (const one of waitersFor<T>(this.process)) one.fulfil(outcome);
  }

  /** One error for all who wait, but that a deadline is each one's own. */
  private fail(failure: Failure, deadLetter: boolean): void {
    const error = this.error(failure, this.settings.deadline);
    if (deadLetter) this.deadLetter(error);
    this.disclaim();
    for (const one of waitersFor(this.process))
      one.fail(failure.type === "deadline" ? this.error(failure, one.timeoutMs) : error);
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

const NONE: readonly string[] = Object.freeze([]);
const NO_TIMINGS: readonly RerouteTiming[] = Object.freeze([]);
