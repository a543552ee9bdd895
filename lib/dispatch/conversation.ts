// A dispatch conversation: the process around conversation-machine.ts, one for each dispatch. It links to the consumer
// before it forwards the envelope, so the consumer's end reaches it as an EXIT, and it re-routes in the same turn.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import { invariant } from "../process/invariant.js";
import type { Kernel } from "../process/kernel.js";
import type { TimerRef } from "../process/owned-timer.js";
import type { Process } from "../process/process.js";
import { crash, type ExitReason } from "../process/reason.js";
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
import type { DispatchError } from "./errors.js";
import { failureError } from "./failure.js";
import type { ConsumerGroup } from "./group.js";
import { Handoff } from "./handoff.js";
import type { IsolatedRoute } from "./isolated.js";
import type { Member, WaitingDispatch } from "./member.js";
import { type Message, ROOM, WITHDRAWN } from "./messages.js";
import { outcomeOf } from "./outcome.js";
import { type DispatchRequest, requestsTo } from "./request.js";
import { type RoutingFunction, takesOf } from "./route.js";
import type { FullSettings } from "./settings.js";
import type { DispatchTap } from "./taps.js";
import "./events.js";

const DONE = stop();
const STOPPED = stop("shutdown");
const BEGIN = { type: "begin" } as const;

export class Conversation<T> implements Callbacks<Message<T>>, WaitingDispatch {
  readonly group: ConsumerGroup<T>;
  readonly envelope: Envelope<T>;
  /** The process that this is the behaviour of. Set when the process has been spawned, before its first turn. */
  process!: Process;
  private state: State<Member> = initial();
  private readonly settings: FullSettings<T>;
  private readonly route: RoutingFunction<T> | IsolatedRoute<T>;
  /** The envelope has an id of its own: dispatches of the same id join this one while it is in flight. */
  private readonly isJoinable: boolean;
  /** What the consumer of the current attempt was given. It holds one of the consumer's slots. */
  private held: Delivery<T> | Handoff | undefined = undefined;
  private patienceTimer: TimerRef | undefined = undefined;
  /** Telemetry of this dispatch, while it is on. */
  tap: DispatchTap | undefined = undefined;

  constructor(
    group: ConsumerGroup<T>,
    envelope: Envelope<T>,
    settings: FullSettings<T>,
    isJoinable: boolean,
  ) {
    this.group = group;
    this.envelope = envelope;
    this.settings = settings;
    this.route = group.route;
    this.isJoinable = isJoinable;
  }

  /** A stopping system ends this process last: when its consumer has settled, or has been stopped. */
  get isLast(): boolean {
    return true;
  }

  get isHelper(): boolean {
    return true;
  }

  // ── from messages and signals to events ───────────────────────────────────────────────────────────────────────

  init(): Stop | undefined {
    return this.apply(BEGIN);
  }

  handle(_ctx: Context<Message<T>>, message: Message<T>): Stop | undefined {
    if (message instanceof Delivery) return this.settled(message);
    switch (message.type) {
      case "handoff":
        return this.apply({ type: "settled", attempt: message.attempt });
      case "chosen":
        return this.chosenElsewhere(message.chosen, message.candidates);
      case "unchosen":
        return this.apply({ type: "misrouted", failure: { type: "evaluation", cause: message.cause } });
      case "withdrawn":
        return this.state.phase === "closed" ? DONE : undefined;
      case "room":
      case "impatient":
        return this.apply(message);
      case "deadline":
        return this.deadline();
      default:
        return message satisfies never;
    }
  }

  signal(ctx: Context<Message<T>>, signal: Signal): Stop | undefined {
    if (signal.type === "down") {
      const reason = signal.reason.type === "normal" ? undefined : signal.reason;
      return this.apply({ type: "compensated", reason });
    }
    const { consumer } = this.state;
    if (signal.type !== "exit" || consumer?.pid !== signal.from) return undefined;
    const { reason } = signal;
    const delivery = this.held instanceof Delivery ? this.held : undefined;
    const at = ctx.now();
    if (delivery?.untaken === true)
      return this.apply({ type: "returned", consumer, exited: true, reason, at });
    return this.apply({ type: "exited", consumer, innocent: delivery?.innocent === true, reason, at });
  }

  private settled({ settlement, attempt }: Delivery<T>): Stop | undefined {
    switch (settlement?.type) {
      case "acked":
        return this.apply({ type: "settled", attempt });
      case "rejected": {
        const { reason, final } = settlement;
        return this.apply({ type: "rejected", attempt, reason, final, at: this.now() });
      }
      case "returned": {
        const { consumer } = this.state;
        if (consumer === undefined || attempt !== this.state.attempt) return undefined;
        const { reason } = settlement;
        return this.apply({ type: "returned", consumer, exited: false, reason, at: this.now() });
      }
      case undefined:
        return undefined;
      default:
        return settlement satisfies never;
    }
  }

  /** Each caller has a deadline of its own. The last of them is the conversation's. */
  private deadline(): Stop | undefined {
    const isLast = requestsTo(this.process).every((one) => one.isOverdue);
    return this.apply({ type: "deadline", isLast });
  }

  // ── called by others, outside this process's turns ────────────────────────────────────────────────────────────

  /** Called by the group. The group is no process, so a message has this conversation choose again in its own turn. */
  wake(): void {
    this.process.deliver(ROOM);
  }

  /** From here on dispatches of the same envelope id join this one, until it ends or its last caller gives up. */
  claim(): void {
    this.group.dedup.claim(this.envelope.id, this);
  }

  /** A caller gave up. After the last one the envelope is taken back at once; the process ends in its own turn. */
  leave(why: unknown): void {
    this.touchGroup();
    this.kernel.shared?.process(this.process.pid, "write");
    if (requestsTo(this.process).length > 0) return;
    this.disclaim();
    this.apply(WITHDRAWN);
    this.held?.abort(why);
    this.process.deliver(WITHDRAWN);
  }

  /** The process has ended before the dispatch. Its envelope is taken back, and its consumer lives on. */
  died(reason: ExitReason): void {
    this.apply({ type: "died", reason });
  }

  // ── from events to effects ────────────────────────────────────────────────────────────────────────────────────

  /** Decides, and carries the effects out. One effect of a decision at most leads to the next event. */
  private apply(first: Event<Member>): Stop | undefined {
    let end: Stop | undefined;
    let event: Event<Member> | undefined = first;
    while (event !== undefined) {
      const decision: ReturnType<typeof decide<Member>> = decide(this.settings, this.state, event);
      const before = this.state;
      this.state = decision[0];
      this.tap?.decided(event, before, this.state, decision[1]);
      const effects = decision[1];
      event = undefined;
      for (let i = 0; i < effects.length; i++) {
        const effect = effects[i] as Effect<Member>;
        if (effect.type === "end") end = DONE;
        else if (effect.type === "shut-down") end = STOPPED;
        else {
          const next = this.perform(effect);
          invariant(next === undefined || event === undefined, "one effect of a decision leads to an event");
          event ??= next;
        }
      }
    }
    return end;
  }

  private perform(
    effect: Exclude<Effect<Member>, { readonly type: "end" | "shut-down" }>,
  ): Event<Member> | undefined {
    switch (effect.type) {
      case "select":
        return this.select();
      case "wait":
        return this.wait(effect.consumer);
      case "leave-queue":
        this.touchGroup();
        this.group.stopWaiting(this);
        return undefined;
      case "start-patience":
        this.startPatience();
        return undefined;
      case "stop-patience":
        if (this.patienceTimer !== undefined) this.process.ctx.cancel(this.patienceTimer);
        return undefined;
      case "deliver":
        return this.deliver();
      case "release":
        this.held?.free();
        // After an exit there is no link any more.
        if (!effect.exited) this.unlink();
        return undefined;
      case "withdraw":
        this.unlink();
        this.held?.withdraw();
        return undefined;
      case "compensate":
        this.compensate();
        return undefined;
      case "complete":
        this.complete();
        return undefined;
      case "fail":
        this.fail(effect.failure, effect.deadLetter);
        return undefined;
      case "fail-overdue":
        this.touchGroup();
        for (const one of requestsTo(this.process))
          if (one.isOverdue) one.fail(this.error({ type: "deadline" }, one.timeoutMs));
        return undefined;
      default:
        return effect satisfies never;
    }
  }

  // ── selecting ─────────────────────────────────────────────────────────────────────────────────────────────────

  private select(): Event<Member> | undefined {
    const { group } = this;
    this.touchGroup();
    if (!this.state.isQueued) return this.choose();
    group.isOffering = group.isOffered(this);
    try {
      return this.choose();
    } finally {
      group.isOffering = false;
    }
  }

  private choose(): Event<Member> | undefined {
    const { group, route, envelope, state, kernel } = this;
    const { excluded } = state.past;
    const isTrusted = typeof route === "function" && route.isTrusted === true;
    const candidates = group.candidates(kernel, excluded, isTrusted);
    if (candidates.length === 0) return this.unselected(excluded.length === 0 ? "empty" : "excluded");
    if (typeof route !== "function") {
      this.chooseElsewhere(route, candidates);
      return undefined;
    }
    let key: string | undefined;
    let chosen: unknown;
    try {
      key = route.affinityKey?.(envelope);
      chosen = route(envelope, candidates, group.context(kernel, key, candidates, isTrusted));
    } catch (cause) {
      return { type: "misrouted", failure: { type: "evaluation", cause } };
    }
    return this.chosen(chosen, candidates, key);
  }

  private chooseElsewhere(route: IsolatedRoute<T>, candidates: readonly Member[]): void {
    const { envelope, group, kernel, process } = this;
    const { ctx } = process;
    const notify = (message: Message<T>): void => {
      if (ctx.alive) ctx.send(ctx.self, message);
    };
    route
      .choose(kernel, envelope, candidates, group.context(kernel, undefined, candidates, false), ctx.signal)
      .then(
        (chosen) => notify({ type: "chosen", chosen, candidates }),
        (cause) => notify({ type: "unchosen", cause }),
      );
  }

  /** The choice took its time: a consumer that has left or exited meanwhile is no candidate any more. */
  private chosenElsewhere(chosen: unknown, before: readonly Member[]): Stop | undefined {
    if (this.state.phase !== "selecting") return undefined;
    const consumer = findChosen(before, chosen);
    const now = this.group.candidates(this.kernel, this.state.past.excluded, true);
    if (consumer !== undefined && !now.includes(consumer)) return this.apply(BEGIN);
    return this.apply(this.chosen(chosen, before, undefined));
  }

  private chosen(chosen: unknown, candidates: readonly Member[], key: string | undefined): Event<Member> {
    if (chosen === undefined) return this.unselected("none");
    const consumer = findChosen(candidates, chosen);
    if (consumer === undefined)
      return { type: "misrouted", failure: { type: "unknown-consumer", selected: describeChosen(chosen) } };
    const { pressure } = consumer;
    if (key !== undefined && pressure === "accept") this.group.remember(key, consumer);
    return { type: "selected", consumer, pressure };
  }

  private unselected(why: NoConsumerReason): Event<Member> {
    this.kernel.shared?.stopping("read");
    if (this.kernel.stopping) return { type: "stopping" };
    const { patienceMs, outwaitsRefusals } = this.settings;
    const { group, kernel, state } = this;
    const patient = patienceMs > 0 && (outwaitsRefusals || !group.isTurningAway(kernel, state.past.excluded));
    return { type: "unselected", why, patient };
  }

  // ── waiting ───────────────────────────────────────────────────────────────────────────────────────────────────

  private wait(at: Member | undefined): Event<Member> | undefined {
    const { attempt, past } = this.state;
    const { priority = 0 } = this.envelope;
    const takes = takesOf(this.route);
    const { excluded } = past;
    const waits = this.group.wait(this, { priority, urgent: attempt > 0, takes, at, excluded });
    return waits ? undefined : { type: "turned-away" };
  }

  private startPatience(): void {
    const { patienceMs } = this.settings;
    if (patienceMs === Number.POSITIVE_INFINITY) return;
    const { ctx } = this.process;
    const message: Message<T> = { type: "impatient", round: this.state.patience.round };
    this.patienceTimer = ctx.sendAfter(ctx.self, message, patienceMs);
  }

  // ── delivering ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Links before it forwards: from then on no end of the consumer goes unnoticed. */
  private deliver(): Event<Member> | undefined {
    const { envelope, process, settings, state } = this;
    const { attempt, consumer } = state;
    invariant(consumer !== undefined, "a delivery has a consumer");
    const { ctx, kernel } = process;
    const held = consumer.acknowledges
      ? new Delivery(envelope, attempt, process, consumer)
      : new Handoff(consumer, kernel, settings.handoffMs);
    this.held = held;
    this.tap?.delivering(held, attempt);
    ctx.link(consumer.pid);
    try {
      if (held instanceof Delivery) consumer.pid.process?.deliverRequest(held);
      else {
        kernel.send(consumer.pid, envelope.payload);
        ctx.sendAfter(ctx.self, { type: "handoff", attempt }, settings.handoffMs);
      }
    } catch (error) {
      // The consumer's bounded mailbox is full: another consumer's turn.
      return { type: "rejected", attempt, reason: crash(error), final: false, at: this.now() };
    }
    return state.past.isRerouting ? { type: "forwarded", at: this.now() } : undefined;
  }

  private unlink(): void {
    if (this.held !== undefined) this.kernel.links.unlink(this.process, this.held.member.pid);
  }

  private compensate(): void {
    const { attempt, consumer } = this.state;
    invariant(consumer !== undefined, "a compensation undoes the work of a consumer");
    const crashed = { consumer: consumer.id, attempt };
    compensate(this.process.ctx as Context<never>, this.envelope, this.settings, crashed);
  }

  // ── ending ────────────────────────────────────────────────────────────────────────────────────────────────────

  private complete(): void {
    const { envelope, held, process, state } = this;
    invariant(held !== undefined, "a dispatch that completes has been delivered");
    const outcome = outcomeOf(envelope, held, state.attempt, state.past);
    if (this.isJoinable) {
      this.touchGroup();
      this.group.dedup.complete(envelope.id, outcome, this.now());
    }
    for (const one of requestsTo<T>(process)) one.fulfil(outcome);
  }

  /** All callers get the same error, but that an error about the deadline names the caller's own. */
  private fail(failure: Failure, deadLetter: boolean): void {
    const { deadlineMs } = this.settings;
    const error = this.error(failure, deadlineMs);
    const hasOwnDeadline = (one: DispatchRequest<unknown>): boolean =>
      failure.type === "deadline" && one.timeoutMs !== deadlineMs;
    this.disclaim();
    this.held?.abort(error);
    if (deadLetter) this.publish(error);
    for (const one of requestsTo(this.process))
      one.fail(hasOwnDeadline(one) ? this.error(failure, one.timeoutMs) : error);
  }

  /** From here on a dispatch of the same envelope id starts anew. */
  private disclaim(): void {
    if (!this.isJoinable) return;
    this.touchGroup();
    this.group.dedup.release(this.envelope.id, this);
  }

  private error(failure: Failure, deadlineMs: number): DispatchError {
    return failureError(failure, this.group.name, deadlineMs, this.envelope, this.state.past.history);
  }

  private publish(error: DispatchError): void {
    const { events } = this.kernel;
    const { envelope, history } = error;
    events.countDeadLetter();
    if (events.wants.undeliverable)
      events.publish("undeliverable", { group: this.group.name, envelope, history, error });
  }

  private touchGroup(): void {
    this.group.touched("write");
  }

  private now(): number {
    return this.process.ctx.now();
  }

  private get kernel(): Kernel {
    return this.process.kernel;
  }
}
