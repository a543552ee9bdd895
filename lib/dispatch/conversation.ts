// A dispatch conversation: the process around machine.ts, one per dispatch. It links to the consumer before it
// forwards, hears of its end by the EXIT itself, and re-routes in the same turn.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import { Request } from "../process/call.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import type { Process } from "../process/process.js";
import { crash, type ExitReason } from "../process/reason.js";
import type { Registration, Waiter } from "./consumer.js";
import { Delivery } from "./delivery.js";
import type { Envelope } from "./envelope.js";
import { ConversationError } from "./errors.js";
import { failureError } from "./failure.js";
import type { ConsumerGroup, FullSettings } from "./group.js";
import { IsolatedRoute } from "./isolated.js";
import { decide, type Effect, type Event, initial, type State } from "./machine.js";
import type { Outcome, RerouteTiming } from "./outcome.js";
import type { RoutingFunction } from "./route.js";
import "./events.js";

/** The caller's side of a dispatch: ends with the conversation, and when that dies, with a ConversationError. */
export class DispatchRequest<T> extends Request<Outcome<T>> {
  conversation: Process | undefined = undefined;
  private readonly of: Conversation<T>;

  constructor(of: Conversation<T>) {
    super();
    this.of = of;
  }

  override calleeExited(reason: ExitReason): void {
    const { group, envelope, state } = this.of;
    this.of.died();
    this.fail(new ConversationError(group.name, "died", reason, envelope, state.history));
  }

  /** The deadline. */
  override fire(): void {
    this.conversation?.deliver(DEADLINE);
  }

  /** The caller gave up. */
  override abandon(error: Error): void {
    this.fail(error);
    this.conversation?.deliver(WITHDRAWN);
  }
}

const DEADLINE = { type: "deadline" } as const;
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
  | { readonly type: "unchosen"; readonly cause: unknown }
  | { readonly type: "compensated"; readonly reason: ExitReason | undefined };

export class Conversation<T> implements Callbacks<Message<T>>, Waiter {
  readonly group: ConsumerGroup<T>;
  readonly envelope: Envelope<T>;
  readonly request: DispatchRequest<T>;
  state: State<Registration> = initial();
  private readonly settings: FullSettings<T>;
  private readonly route: RoutingFunction<T> | IsolatedRoute<T>;
  private ctx!: Context<Message<T>>;
  wokenBy = 0;
  private waitingAt: Registration | undefined = undefined;
  /** Whose vacancy this was woken for, until it is used or offered on. */
  private wokenFor: Registration | undefined = undefined;
  private patient: boolean;
  private settledBy: Outcome<T>["settledBy"] = "ack";
  private reply: unknown = undefined;
  private timings: RerouteTiming[] | undefined = undefined;
  /** When the EXIT that led to the next attempt was observed. */
  private exitAt = -1;

  constructor(group: ConsumerGroup<T>, envelope: Envelope<T>, settings: FullSettings<T>) {
    this.group = group;
    this.envelope = envelope;
    this.settings = settings;
    this.route = group.route;
    this.patient = settings.patience > 0;
    this.request = new DispatchRequest(this);
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
        return this.chosen(message.chosen, message.candidates);
      case "unchosen":
        return this.apply({ type: "misrouted", failure: { type: "evaluation", cause: message.cause } });
      case "impatient":
        this.patient = false;
        return this.state.phase === "waiting" && this.waitingAt === undefined ? this.retry() : undefined;
      case "room":
      case "compensated":
      case "deadline":
      case "withdrawn":
        return this.apply(message);
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
    const at = ctx.now();
    this.exitAt = at;
    return this.apply({ type: "exited", consumer, reason: signal.reason, at });
  }

  /** Called by the group, which is no process: what it says comes as a message. */
  wake(vacancy: number, consumer: Registration | undefined): boolean {
    this.group.stopWaiting(this, this.waitingAt);
    const process = this.request.conversation;
    if (process === undefined || !process.alive) return false;
    this.wokenBy = vacancy;
    this.wokenFor = consumer;
    process.deliver(ROOM);
    return true;
  }

  /** A vacancy that this conversation was woken for and does not use is somebody else's. */
  private offerOn(used: Registration | undefined): void {
    const { wokenFor } = this;
    this.wokenFor = undefined;
    if (wokenFor !== undefined && wokenFor !== used) this.group.offer(wokenFor, this.wokenBy);
  }

  /** The conversation was ended from outside: what it held is given back all the same. */
  died(): void {
    this.group.stopWaiting(this, this.waitingAt);
    this.offerOn(undefined);
    const { phase, consumer } = this.state;
    if (phase !== "delivered" || consumer === undefined) return;
    consumer.inFlight--;
    this.group.room(consumer);
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
        if (!effect.exited) this.ctx.unlink(effect.consumer.pid, { flush: true });
        this.group.room(effect.consumer);
        return undefined;
      case "compensate":
        this.compensate(effect.consumer);
        return undefined;
      case "complete":
        this.complete(effect.consumer);
        return undefined;
      case "fail": {
        const error = failureError(
          effect.failure,
          this.group.name,
          this.settings.deadline,
          this.envelope,
          this.state.history,
        );
        if (effect.deadLetter) this.deadLetter(error);
        this.request.fail(error);
        return undefined;
      }
      case "end":
        this.offerOn(undefined);
        return DONE;
      default:
        return effect satisfies never;
    }
  }

  private select(): Stop | undefined {
    const { group, route, envelope, state } = this;
    const candidates = group.candidates(state.excluded);
    if (candidates.length === 0) {
      const why = state.excluded.length === 0 ? "empty" : "excluded";
      return this.apply({ type: "unselected", why, patient: this.patient });
    }
    let chosen: unknown;
    try {
      const context = group.context(route, envelope, candidates, this.ctx.random());
      if (route instanceof IsolatedRoute) {
        const { ctx } = this;
        const tell = (message: Message<T>): void => {
          if (ctx.alive) ctx.send(ctx.self, message);
        };
        route.choose(this.kernel, envelope, candidates, context).then(
          (id) => tell({ type: "chosen", chosen: id, candidates }),
          (cause) => tell({ type: "unchosen", cause }),
        );
        return undefined;
      }
      chosen = route(envelope, candidates, context);
    } catch (cause) {
      return this.apply({ type: "misrouted", failure: { type: "evaluation", cause } });
    }
    return this.chosen(chosen, candidates);
  }

  private chosen(chosen: unknown, candidates: readonly Registration[]): Stop | undefined {
    if (chosen === undefined) return this.apply({ type: "unselected", why: "none", patient: this.patient });
    const consumer =
      typeof chosen === "string"
        ? candidates.find((one) => one.id === chosen)
        : candidates.includes(chosen as Registration)
          ? (chosen as Registration)
          : undefined;
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
    const { ctx, envelope, group, kernel } = this;
    this.offerOn(consumer);
    consumer.inFlight++;
    consumer.delivered++;
    group.remember(this.route, envelope, consumer);
    ctx.link(consumer.pid);
    try {
      if (consumer.acknowledges) {
        kernel.send(
          consumer.pid,
          new Delivery(envelope, attempt, ctx.self.process as Process, consumer.pid.process),
        );
      } else {
        kernel.send(consumer.pid, envelope.payload);
        ctx.sendAfter(ctx.self, { type: "handoff", attempt }, this.settings.handoff);
      }
    } catch (error) {
      // Its bounded mailbox is full: another consumer's turn.
      return this.apply({ type: "rejected", attempt, reason: crash(error), final: false, at: ctx.now() });
    }
    if (this.exitAt >= 0) this.noteReroute();
    return undefined;
  }

  private noteReroute(): void {
    const last = this.state.history.at(-1);
    const exitAt = this.exitAt;
    this.exitAt = -1;
    if (last === undefined) return;
    const reroutedAt = this.ctx.now();
    this.timings ??= [];
    this.timings.push({
      consumer: last.consumer,
      reason: last.reason,
      exitAt,
      reroutedAt,
      elapsedMs: reroutedAt - exitAt,
    });
  }

  private wait(consumer: Registration | undefined): Stop | undefined {
    this.waitingAt = consumer;
    this.offerOn(undefined);
    if (this.group.wait(this, consumer)) return undefined;
    this.state = { ...this.state, phase: "selecting" };
    return this.apply({ type: "unselected", why: "waiting-full", patient: false });
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
    const { pid } = ctx.spawnMonitor(body, { label: `compensation of ${envelope.id}` });
    if (settings.compensationTimeout !== Number.POSITIVE_INFINITY) {
      ctx.after(settings.compensationTimeout, () => ctx.exit(pid, "kill"));
    }
  }

  private complete(consumer: Registration): void {
    const { history, attempt } = this.state;
    this.request.fulfil({
      envelope: this.envelope,
      deliveredTo: consumer.id,
      pid: consumer.pid,
      settledBy: this.settledBy,
      reply: this.reply,
      attempts: attempt,
      reroutedFrom: history.length === 0 ? NONE : history.map((one) => one.consumer),
      rerouteTimings: this.timings ?? NO_TIMINGS,
      duplicate: false,
    });
  }

  private deadLetter(error: Error): void {
    const { kernel } = this;
    kernel.events.deadLetters++;
    if (kernel.events.wants.undeliverable) {
      const { envelope, state } = this;
      kernel.events.publish("undeliverable", {
        group: this.group.name,
        envelope,
        history: state.history,
        error,
      });
    }
  }

  private get kernel(): Process["kernel"] {
    return (this.ctx.self.process as Process).kernel;
  }
}

const NONE: readonly string[] = Object.freeze([]);
const NO_TIMINGS: readonly RerouteTiming[] = Object.freeze([]);

function nameOf(chosen: unknown): string {
  if (typeof chosen === "string") return `"${chosen}"`;
  const id = typeof chosen === "object" && chosen !== null ? (chosen as { id?: unknown }).id : undefined;
  return typeof id === "string" ? `"${id}"` : String(chosen);
}
