// A dispatch conversation: the request of its first caller, and the code that carries out the decisions of conversation-machine.ts. A
// conversation that its first consumer acknowledges needs no process: the watcher of the group monitors that consumer. At any
// other event it gets one (conversation-process.ts), which is linked to the consumer itself (docs/decisions/0176).

import { type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import { SignalEntry } from "../process/entries.js";
import { invariant } from "../process/invariant.js";
import type { Kernel } from "../process/kernel.js";
import type { TimerRef } from "../process/owned-timer.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { crash, type ExitReason } from "../process/reason.js";
import type { Request } from "../process/request.js";
import { adoptContext } from "../process/sender-context.js";
import type { Access } from "../process/shared-state.js";
import { NO_PAST } from "./attempts.js";
import { compensate } from "./compensation.js";
import {
  decide,
  delivered,
  type Effect,
  type Event,
  type Failure,
  initial,
  type NoConsumerReason,
  type State,
} from "./conversation-machine.js";
import { ConversationProcess, DEADLINE, type Message, ROOM } from "./conversation-process.js";
import { Delivery } from "./delivery.js";
import type { Envelope } from "./envelope.js";
import type { DispatchError } from "./errors.js";
import { failureError } from "./failure.js";
import type { Flights } from "./flights.js";
import type { ConsumerGroup } from "./group.js";
import { Handoff } from "./handoff.js";
import type { IsolatedRoute } from "./isolated.js";
import type { Member, WaitingDispatch } from "./member.js";
import { outcomeOf } from "./outcome.js";
import { DispatchRequest, requestsTo } from "./request.js";
import { describeChosen, findChosen, type RoutingFunction, takesOf } from "./route.js";
import type { FullSettings } from "./settings.js";
import type { DispatchTap } from "./taps.js";
import "./events.js";

const DONE = /* @__PURE__ */ stop();
const STOPPED = /* @__PURE__ */ stop("shutdown");
const BEGIN = { type: "begin" } as const;
const WITHDRAWN = { type: "withdrawn" } as const;
const CONVERSATION = { label: "dispatch", trapExit: true } as const;

export class Conversation<T> extends DispatchRequest<T> implements WaitingDispatch {
  readonly group: ConsumerGroup<T>;
  readonly envelope: Envelope<T>;
  /** Its process, once it has one. */
  process: Process | undefined = undefined;
  private readonly settings: FullSettings<T>;
  private readonly route: RoutingFunction<T> | IsolatedRoute<T>;
  /** The envelope has an id of its own: dispatches of the same id join this one while it is in flight. */
  private readonly isJoinable: boolean;
  /** The delivery or handoff of the current attempt. It holds one of the consumer's slots. */
  private held: Delivery<T> | Handoff | undefined = undefined;
  // Few conversations have the next four: fields that are not there yet cost the others no memory.
  /** The state of the machine, once it has decided something. */
  declare private decided?: State<Member>;
  declare private patienceTimer?: TimerRef;
  /** The consumer that has ended with the envelope, for the event `reroute`. */
  declare private endedAt?: Member;
  /** Telemetry of this dispatch, while it is on. */
  declare follower?: DispatchTap;

  constructor(
    group: ConsumerGroup<T>,
    envelope: Envelope<T>,
    settings: FullSettings<T>,
    route: RoutingFunction<T> | IsolatedRoute<T>,
    isJoinable: boolean,
  ) {
    super();
    this.group = group;
    this.envelope = envelope;
    this.settings = settings;
    this.route = route;
    this.isJoinable = isJoinable;
  }

  get of(): Conversation<T> {
    return this;
  }

  /** Attempts that another node made at the envelope: the consumer sees their number. */
  get attemptsBefore(): number {
    return this.settings.attemptsBefore ?? 0;
  }

  get state(): State<Member> {
    return this.decided ?? (this.held === undefined ? initial() : delivered(this.held.member));
  }

  /** The delivery that the consumer of the current attempt has to settle; undefined for one that cannot acknowledge. */
  get delivery(): Delivery<T> | undefined {
    return this.held instanceof Delivery ? this.held : undefined;
  }

  // ── without a process ─────────────────────────────────────────────────────────────────────────────────────────

  /** Begins the dispatch for its first caller. */
  start(kernel: Kernel, owner: Process | undefined): void {
    this.begin(kernel, owner, this.group.name, undefined, this.settings.deadlineMs);
    if (this.isSeen(kernel)) {
      this.spawn(true);
      kernel.taps?.dispatching(this as Conversation<unknown>, owner);
    }
    // From here on dispatches of the same envelope id join this one, until it ends or its last caller gives up.
    if (this.isJoinable) this.group.dedup.claim(this.envelope.id, this);
    if (this.process === undefined) this.forward(this.select() as Event<Member>);
  }

  /** Whether telemetry or a listener follows the life of its process. A routing function of the user's needs a process to run in. */
  private isSeen({ events: { wants }, shared, taps }: Kernel): boolean {
    const { route } = this;
    shared?.listeners("read");
    const isPure = typeof route === "function" && route.isPure === true;
    return (
      !isPure || taps !== undefined || wants.spawn === true || wants.exit === true || wants.link === true
    );
  }

  /** The first choice. A consumer that takes the envelope gets it as the machine would lead to it, with two states less. */
  private forward(event: Event<Member>): void {
    const isTaken = event.type === "selected" && event.pressure === "accept";
    const flights = isTaken ? flightsTo(event.consumer) : undefined;
    if (!isTaken || flights === undefined) {
      this.spawn(false);
      this.react(event);
      return;
    }
    const held = new Delivery<T>(this, 1 + this.attemptsBefore, event.consumer);
    this.held = held;
    // The consumer is not linked: the watcher notices its end.
    flights.add(this as Conversation<unknown>);
    const rejected = this.send(held);
    if (rejected === undefined) return;
    this.appear();
    this.react(rejected);
  }

  /** The consumer's bounded mailbox may be full: then it is another consumer's turn. */
  private send(held: Delivery<T> | Handoff): Event<Member> | undefined {
    const { pid } = held.member;
    try {
      if (held instanceof Delivery) pid.process?.deliverRequest(held);
      else this.kernelHere.send(pid, this.envelope.payload);
      return undefined;
    } catch (error) {
      const { attempt } = this.state;
      return { type: "rejected", attempt, reason: crash(error), final: false, at: this.now() };
    }
  }

  /** Outside of the turns of its process. */
  private react(event: Event<Member>): void {
    const end = this.apply(event);
    if (end !== undefined) this.process?.deliver(end);
  }

  /** Its process, spawned if there is none. */
  appear(): Process {
    const { held, process } = this;
    if (process !== undefined) return process;
    this.looked("write");
    invariant(held instanceof Delivery, "a conversation without a process has delivered");
    const { flights, pid } = held.member;
    flights?.remove(this as Conversation<unknown>);
    const spawned = this.spawn(false);
    // The end of the consumer is on its way to the watcher, which passes it on.
    if (flights?.isWatched === true && pid.process === undefined)
      flights.addLate(this as Conversation<unknown>);
    else this.kernelHere.links.link(spawned, pid);
    return spawned;
  }

  /** @param begins - the first turn of the process begins the conversation */
  private spawn(begins: boolean): Process {
    const kernel = this.kernelHere;
    const spawn = (): Process => {
      const spawned = kernel.spawn(new ConversationProcess(this, begins), undefined, CONVERSATION);
      adoptContext(spawned.pid);
      return spawned;
    };
    const process = this.context === undefined ? spawn() : this.context.runInAsyncScope(spawn);
    this.process = process;
    this.decided = this.state;
    // The kernel fails the requests to a process that ends.
    const { requests } = process;
    this.callee = process;
    this.next = requests;
    if (requests !== undefined) requests.previous = this as unknown as Request;
    process.requests = this as unknown as Request;
    return process;
  }

  // ── called by others, outside the process's turns ─────────────────────────────────────────────────────────────

  /** Called by the delivery that its consumer has settled. False when the conversation has ended. */
  answered(delivery: Delivery<T>): boolean {
    const { process } = this;
    if (process === undefined && !this.open) return false;
    if (process === undefined && delivery.settlement?.type === "acked") {
      this.unlink();
      this.complete();
      return true;
    }
    if (process?.alive === false) return false;
    this.appear().deliver(delivery);
    return true;
  }

  /** Called by the watcher: the consumer of this conversation has exited. Its process learns of that as by a link. */
  consumerExited(from: Pid, reason: ExitReason): void {
    this.looked("write");
    const process = this.process ?? this.spawn(false);
    process.deliverSignal(new SignalEntry({ type: "exit", from, reason }));
  }

  /** Called by the group. The group is no process, so a message has this conversation choose again in its own turn. */
  wake(): void {
    this.process?.deliver(ROOM);
  }

  /** The deadline of a caller has passed. */
  overdue(): void {
    const process = this.appear();
    process.kernel.shared?.process(process.pid, "write");
    process.deliver(DEADLINE);
  }

  /** A caller gave up. After the last one the envelope is taken back at once; the process ends in its own turn. */
  leave(why: unknown): void {
    const { process } = this;
    this.touchGroup();
    if (process !== undefined) this.kernelHere.shared?.process(process.pid, "write");
    if (this.callers().length > 0) return;
    this.disclaim();
    this.react(WITHDRAWN);
    this.held?.abort(why);
  }

  /** The process has ended before the dispatch. Its envelope is taken back, and its consumer lives on. */
  died(reason: ExitReason): void {
    this.apply({ type: "died", reason });
  }

  /** The callers that wait for the end, oldest first. */
  callers(): readonly DispatchRequest<T>[] {
    if (this.process !== undefined) return requestsTo<T>(this.process);
    return this.open ? [this] : [];
  }

  /** Notifies an exhaustive search that the running code decides by this conversation, or changes it. */
  looked(access: Access): void {
    const { kernelHere, process } = this;
    if (process === undefined) kernelHere.shared?.object(this, access);
    else kernelHere.shared?.process(process.pid, "read");
  }

  // ── from events to effects ────────────────────────────────────────────────────────────────────────────────────

  /** Decides, and carries the effects out. One effect of a decision at most leads to the next event. */
  apply(first: Event<Member>): Stop | undefined {
    let end: Stop | undefined;
    let event: Event<Member> | undefined = first;
    while (event !== undefined) {
      const before = this.state;
      const decision: ReturnType<typeof decide<Member>> = decide(this.settings, before, event);
      this.decided = decision[0];
      this.follower?.decided(event, before, decision[0], decision[1]);
      if (event.type === "forwarded") this.publishReroute();
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
        if (this.patienceTimer !== undefined) this.ctx.cancel(this.patienceTimer);
        return undefined;
      case "deliver":
        return this.deliver();
      case "release":
        this.held?.free();
        // After an exit there is no link any more.
        if (effect.exited) this.endedAt = this.held?.member as Member;
        else this.unlink();
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
        this.failAll(effect.failure, effect.deadLetter);
        return undefined;
      case "fail-overdue":
        this.touchGroup();
        for (const one of this.callers())
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
    const { group, route, envelope, state, kernelHere: kernel } = this;
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
    const { ctx, envelope, group, kernelHere: kernel } = this;
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
  chosenElsewhere(chosen: unknown, before: readonly Member[]): Stop | undefined {
    if (this.state.phase !== "selecting") return undefined;
    const consumer = findChosen(before, chosen);
    const now = this.group.candidates(this.kernelHere, this.state.past.excluded, true);
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
    const { group, kernelHere: kernel, state } = this;
    kernel.shared?.stopping("read");
    if (kernel.stopping) return { type: "stopping" };
    const { patienceMs, outwaitsRefusals } = this.settings;
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
    const { ctx } = this;
    const message: Message<T> = { type: "impatient", round: this.state.patience.round };
    this.patienceTimer = ctx.sendAfter(ctx.self, message, patienceMs);
  }

  // ── delivering ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Links before it forwards: from then on no end of the consumer goes unnoticed. */
  private deliver(): Event<Member> | undefined {
    const { ctx, kernelHere: kernel, settings } = this;
    const { attempt, consumer, past } = this.state;
    invariant(consumer !== undefined, "a delivery has a consumer");
    const held = consumer.acknowledges
      ? new Delivery<T>(this, attempt + this.attemptsBefore, consumer)
      : new Handoff(consumer, kernel, settings.handoffMs);
    this.held = held;
    this.follower?.delivering(held as Delivery | Handoff, attempt);
    ctx.link(consumer.pid);
    const rejected = this.send(held);
    if (rejected !== undefined) return rejected;
    if (held instanceof Handoff) ctx.sendAfter(ctx.self, { type: "handoff", attempt }, settings.handoffMs);
    return past.isRerouting ? { type: "forwarded", at: this.now() } : undefined;
  }

  private publishReroute(): void {
    const { endedAt: ended, held, kernelHere: kernel, state } = this;
    kernel.shared?.listeners("read");
    const timing = state.past.timings.at(-1);
    if (!kernel.events.wants.reroute || ended === undefined || held === undefined || timing === undefined)
      return;
    const { consumer: from, reason, elapsedMs } = timing;
    const { id: to } = held.member;
    const [fromPid, toPid] = [addressOf(ended), addressOf(held.member)];
    const { attempt } = state;
    const { group, envelope } = this;
    kernel.events.publish("reroute", {
      ...{ group: group.name, envelope, from, fromPid, reason, to, toPid, attempt, elapsedMs },
    });
  }

  private unlink(): void {
    const { held, process } = this;
    if (held === undefined) return;
    if (process !== undefined) this.kernelHere.links.unlink(process, held.member.pid);
    else held.member.flights?.remove(this as Conversation<unknown>);
  }

  private compensate(): void {
    const { attempt, consumer } = this.state;
    invariant(consumer !== undefined, "a compensation undoes the work of a consumer");
    const crashed = { consumer: consumer.id, attempt };
    compensate(this.ctx as Context<never>, this.envelope, this.settings, crashed);
  }

  // ── ending ────────────────────────────────────────────────────────────────────────────────────────────────────

  private complete(): void {
    const { decided, envelope, held, process } = this;
    invariant(held !== undefined, "a dispatch that completes has been delivered");
    const outcome = outcomeOf(envelope, held, decided?.attempt ?? 1, decided?.past ?? NO_PAST);
    if (this.isJoinable) {
      this.touchGroup();
      this.group.dedup.complete(envelope.id, outcome, this.now());
    }
    if (process === undefined) this.fulfil(outcome);
    else for (const one of requestsTo<T>(process)) one.fulfil(outcome);
  }

  /** All callers get the same error, but that an error about the deadline names the caller's own. */
  private failAll(failure: Failure, deadLetter: boolean): void {
    const { deadlineMs } = this.settings;
    const error = this.error(failure, deadlineMs);
    const hasOwnDeadline = (one: DispatchRequest<T>): boolean =>
      failure.type === "deadline" && one.timeoutMs !== deadlineMs;
    this.disclaim();
    this.held?.abort(error);
    if (deadLetter) this.publish(error);
    for (const one of this.callers())
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
    const { events } = this.kernelHere;
    const { envelope, history } = error;
    events.countDeadLetter();
    if (events.wants.undeliverable)
      events.publish("undeliverable", { group: this.group.name, envelope, history, error });
  }

  private touchGroup(): void {
    this.group.touched("write");
  }

  now(): number {
    return this.kernelHere.env.now();
  }

  private get ctx(): Context<unknown> {
    invariant(this.process !== undefined, "only the first delivery needs no process");
    return this.process.ctx;
  }

  private get kernelHere(): Kernel {
    return this.kernel as Kernel;
  }
}

/** The dispatches in flight at a consumer whose end a watcher notices. A consumer that cannot acknowledge needs a process. */
function flightsTo({ acknowledges, flights }: Member): Flights | undefined {
  return acknowledges && flights?.isWatched === true ? flights : undefined;
}

/** The process of a consumer, on whichever node it is. */
const addressOf = (member: Member): Pid => member.standsFor ?? member.pid;
