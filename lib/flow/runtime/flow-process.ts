// The process of a flow: runs the code, carries out the effects of its machine, and brings back what came of them.

import { after } from "../../host/payload/codec.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import type { TimerRef } from "../../process/owned-timer.js";
import { isThenable } from "../../process/thenable.js";
import type { SqlTransaction, Write } from "../../store/index.js";
import { checked } from "../definition/checked.js";
import type { StepContext } from "../definition/context.js";
import type { AnyFlow, FlowDefinition } from "../definition/define.js";
import { countedKey, outsideKey } from "../definition/names.js";
import type { Suspension } from "../hospital/record.js";
import type { SymptomKind } from "../hospital/symptom.js";
import type { Entry, Stored } from "../journal/entry.js";
import { EVENT_TOPIC, events, type FlowRow } from "../journal/tables.js";
import { decide } from "../machine/flow-machine.js";
import type { Ending, FlowEffect, FlowEvent, How, Letter } from "../machine/state.js";
import { sessions } from "../sessions/tables.js";
import type { Call, Extra, Running } from "./call.js";
import { entriesSet } from "./checkpoint.js";
import { FlowContextError } from "./errors.js";
import { runBody, runTransaction } from "./flow-attempts.js";
import type { Asking, AskOptions } from "./flow-code.js";
import { cancelChildren, diverged, hasEnded, kill, runCode } from "./flow-ends.js";
import { engineUnless, FlowLife, type FlowMessage } from "./flow-life.js";
import { deliver, rejectAll } from "./flow-outcomes.js";
import { park, parked, restFor } from "./flow-rest.js";
import { checkpoint, endingSet, finish, submit, transact, verify } from "./flow-writes.js";
import type { FlowPort, NewChild, Transition } from "./port.js";
import { Seeded } from "./seeded.js";
import type { StepPlan } from "./step-body.js";

/** A flow that sleeps no longer than this keeps its place in memory, also when others want one. */
const MOMENT_MS = 5_000;

export class FlowProcess implements Callbacks<FlowMessage>, Asking {
  readonly seeded: Seeded;
  readonly #life: FlowLife;
  readonly #transition: Transition;
  readonly #names = new Map<string, number>();
  readonly #queue: FlowEvent[] = [];
  #busy = false;
  #timer: TimerRef | undefined;
  #stall: TimerRef | undefined;
  #answer = 0;

  constructor(
    port: FlowPort,
    row: FlowRow,
    definition: FlowDefinition<never>,
    history: readonly Entry[],
    letters: readonly Letter[],
    isDry = false,
  ) {
    const event = (one: FlowEvent): void => this.event(one);
    this.#life = new FlowLife(port, row, definition, history, letters, { isDry, asking: this, event });
    this.seeded = new Seeded(`${row.seed}/${row.generation}`);
    const of = { id: row.id, name: row.name, version: row.version };
    this.#transition = port.interceptors.reduceRight<Transition>((next, wrap) => wrap(next, of), decide);
  }

  get flowId(): string {
    return this.#life.flowId;
  }

  get ctx(): Context<never> {
    return this.#life.ctx;
  }

  /** How the flow has ended, once that is durable. */
  get ending(): Ending | undefined {
    return this.#life.ending;
  }

  /** The store takes no more writes from the host: the host ends, and the next host that takes the flow runs it. */
  get hasLostHost(): boolean {
    return this.#life.hasLostHost;
  }

  get suspension(): Suspension {
    return this.#life.suspension;
  }

  get owes(): boolean {
    return this.#life.owes;
  }

  get number(): number {
    return this.#life.row.number;
  }

  get cancellation(): AbortSignal {
    return this.#life.cancelling.signal;
  }

  /** The code has made all asks in its journal, and all that it can make without a further outcome. */
  get isCaughtUp(): boolean {
    return this.#life.state.caughtUp;
  }

  /**
   * Others have to act before the flow goes on, or it sleeps for more than a moment: it may as well wait in the store. A flow whose time
   * has come may not: it would be taken again at once, and get no further.
   */
  get mayLeave(): boolean {
    let isForOthers = false;
    let first = Number.POSITIVE_INFINITY;
    for (const { how, due = first } of this.#life.state.ops.values()) {
      isForOthers ||= how.type === "wait";
      first = Math.min(first, due);
    }
    return first - this.#life.port.now() > (isForOthers ? 0 : MOMENT_MS);
  }

  leave(): void {
    this.ctx.self.process?.deliver({ type: "wish", wish: "leave" } satisfies FlowMessage, undefined);
  }

  /** The kind of the error with which the process ended, for the hospital. Undefined: not known. */
  kindOf(error: unknown): SymptomKind | undefined {
    return this.#life.failed?.error === error ? this.#life.failed?.kind : undefined;
  }

  // ── the process ──────────────────────────────────────────────────────────────────────────────────────────────

  init(ctx: Context<FlowMessage>): void {
    this.#life.ctx = ctx;
    this.#life.subject.own(ctx.self);
    this.#life.asEngine(() => this.#begin());
  }

  #begin(): void {
    // A flow that was killed before it could run is ended without its code.
    if (this.#life.row.wish !== "kill") void runCode(this.#life);
    // A host that runs it again finds its row as the run before left it.
    if (this.#life.shown === "waiting" && !this.#life.isDry) restFor(this.#life, "running");
    if (this.#life.row.wish === "cancel") this.event({ type: "cancel", now: this.#life.port.now() });
    if (this.#life.row.wish === "pause") this.event({ type: "hold", why: "pause" });
    if (this.#life.row.wish === "kill") void kill(this.#life);
  }

  handle(_ctx: Context<FlowMessage>, message: FlowMessage): unknown {
    return this.#life.asEngine(() => this.#handle(message));
  }

  #handle(message: FlowMessage): unknown {
    switch (message.type) {
      case "stored":
        if (message.error !== undefined) return this.#life.refused(message.error);
        if (this.#life.port.readBack !== undefined) verify(this.#life);
        this.#life.subject.progressed();
        return this.event({ type: "written", at: this.#life.writtenAt });
      case "drained":
        return this.event({ type: "drained", now: this.#life.port.now() });
      case "mail":
        return this.event({ type: "mail", letters: message.letters, now: this.#life.port.now() });
      case "wish":
        if (message.wish === "kill" || message.wish === "stop") this.#life.search?.abort();
        if (message.wish === "kill") return void kill(this.#life);
        if (message.wish === "cancel") return this.event({ type: "cancel", now: this.#life.port.now() });
        if (message.wish === "leave") return this.event({ type: "idle" });
        return this.event({ type: "hold", why: message.wish });
      case "parked":
        return parked(this.#life, message);
      default:
        return message satisfies never;
    }
  }

  terminate(): void {
    this.#life.subject.end();
    for (const { running } of this.#life.calls.values())
      running?.abort(new FlowContextError("the flow's process has ended"));
  }

  /**
   * The process has ended, by itself or by a kill: ends its steps, and calls `settled` once the store has answered all of its writes.
   * Before that its journal may grow, so no host may run the flow anew.
   */
  abandon(settled: () => void): void {
    this.terminate();
    if (this.#life.unanswered === 0) settled();
    else this.#life.settled = settled;
  }

  // ── the machine ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes an event, and carries out what follows, one effect after the other. */
  event(event: FlowEvent): void {
    if (this.#life.parking) {
      this.#life.late.push(event);
      return;
    }
    this.#queue.push(event);
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const effects = this.#transition(this.#life.state, next)[1];
        for (let i = 0; i < effects.length; i++) {
          this.#perform(effects[i] as FlowEffect);
          if (!this.ctx.alive) return;
        }
      }
    } catch (error) {
      // The flow's own code does not run here: the transition failed, an interceptor, or an effect.
      this.#life.fail(error, engineUnless(error));
      return;
    }
    this.#busy = false;
  }

  #perform(effect: FlowEffect): undefined {
    switch (effect.type) {
      case "write":
        submit(
          this.#life,
          entriesSet(checkpoint(this.#life, effect.seq, effect.items, effect.asks, this.#life.port.claim)),
        );
        return;
      case "finish":
        if (this.#life.isDry) return this.#life.end();
        {
          const set = endingSet(this.#life, effect.seq, effect.items, effect.asks, effect.ending);
          if (this.#life.port.readBack === undefined) submit(this.#life, set);
          else void finish(this.#life, set);
        }
        return;
      case "run": {
        const call = this.#life.calls.get(effect.key) as Call;
        call.running = call.start?.(effect.attempt);
        return;
      }
      case "transact":
        transact(this.#life, effect.key, effect.seq, effect.asks);
        return;
      case "deliver":
        deliver(this.#life, effect.key, effect.ok, effect.value, effect.at);
        return;
      case "reject":
        rejectAll(this.#life, effect.keys, effect.at);
        return;
      case "drain":
        this.#life.port.drain(this.#life);
        return;
      case "timer":
        this.#setTimer(effect.due);
        return;
      case "answer":
        this.#answer = effect.version;
        return;
      case "diverged":
        diverged(this.#life, effect);
        return;
      case "stalled":
        this.#stall ??= this.#life.after(this.#life.port.limits.stallMs, () =>
          this.event({ type: "waited" }),
        );
        return;
      case "caught up":
        if (this.#stall !== undefined) this.ctx.cancel(this.#stall);
        if (this.#life.isDry) return this.#life.end();
        if (this.#life.isCancelled) void cancelChildren(this.#life);
        this.#life.port.caughtUp(this.number);
        return;
      case "ended":
        return hasEnded(this.#life, effect.ending);
      case "quiet":
        this.#life.port.idle(this, effect.quiet);
        restFor(this.#life, effect.quiet ? "waiting" : "running");
        return;
      case "park":
        park(this.#life, effect.due, effect.why);
        return;
      default:
        effect satisfies never;
    }
  }

  #setTimer(due: number | undefined): void {
    if (this.#timer !== undefined) this.ctx.cancel(this.#timer);
    this.#timer = undefined;
    if (due === undefined) return;
    const wait = Math.max(0, due - this.#life.port.now());
    this.#timer = this.#life.after(wait, () => {
      this.#timer = undefined;
      const now = this.#life.port.now();
      // The wall clock may run slower than the timer's.
      if (now < due) this.#setTimer(due);
      else this.event({ type: "due", now });
    });
  }

  // ── asks ─────────────────────────────────────────────────────────────────────────────────────────────────────

  keyFor(base: string): string {
    const used = (this.#names.get(base) ?? 0) + 1;
    this.#names.set(base, used);
    return countedKey(base, used);
  }

  outside(key: string): string {
    return outsideKey(key, this.#life.row.generation);
  }

  ask<T>(kind: string, key: string, how: How, more?: AskOptions): Promise<T> {
    return this.#call<T>(kind, key, how, { extra: more?.extra, finish: more?.finish });
  }

  askBody<T>(
    kind: string,
    key: string,
    plan: StepPlan,
    body: (step: StepContext) => unknown,
    more?: AskOptions,
  ): Promise<T> {
    const start = (attempt: number): Running => runBody(this.#life, { kind, key, plan, attempt, more }, body);
    return this.#call<T>(kind, key, RUN, { start, finish: more?.finish });
  }

  askTransaction<T>(
    key: string,
    plan: StepPlan,
    body: (tx: SqlTransaction) => T | PromiseLike<T>,
  ): Promise<Awaited<T>> {
    const start = (attempt: number): Running => {
      const aborting = new AbortController();
      void runTransaction(this.#life, key, plan, attempt, body, aborting.signal);
      return aborting;
    };
    return this.#call("transaction", key, COMMIT, { start });
  }

  childKey(key: string): string {
    const part = this.outside(key);
    if (this.#life.isCancelled) this.#life.spared.add(part);
    return part;
  }

  startChild(flow: AnyFlow, input: unknown, as: NewChild): Promise<Extra> {
    return this.#life.port.childOf(this.#life.row, flow, input, as);
  }

  answering(flow: AnyFlow, id: string): Promise<Extra> {
    return this.#life.port.answererOf(this.#life.row, flow, id);
  }

  /** The code calls this on replay too, so the flow knows its open sessions, even those whose rows an earlier host wrote. */
  sessionRow(session: string, peer: string | undefined): Write {
    const flow = this.number;
    if (peer === undefined) {
      this.#life.sessions.delete(session);
      return { type: "delete", table: sessions, key: [flow, session] };
    }
    this.#life.sessions.add(session);
    return { type: "put", table: sessions, row: { flow, session, peer } };
  }

  mailTo(id: string, topic: string, value: unknown, key: string): Promise<Extra> {
    return this.#life.port.mailTo(this.#life.row, id, topic, value, key);
  }

  cancelling(id: string): Promise<Extra> {
    return this.#life.port.wishFor(id, "cancel");
  }

  async publish(topic: string, value: unknown): Promise<Extra> {
    const { payloads, blobs } = this.#life.port;
    const stored = await payloads.encode(value, `event "${topic}" of flow ${this.flowId}`, "message");
    const writes: Write[] = [];
    const kept = blobs.split(stored, `flow/${this.number}`, writes);
    const row = { flow: this.number, topic, value: kept, at: this.#life.port.now() };
    return {
      writes: [...writes, { type: "insert", table: events, row }],
      notify: [EVENT_TOPIC + this.flowId],
    };
  }

  recordedNow(): number {
    return this.#life.at;
  }

  setProgress(value: unknown): void {
    const flow = this.#life.row.name;
    const { progress } = this.#life.definition.options;
    const stored = after(checked(progress, value, { type: "progress", flow }), (good) =>
      this.#life.port.payloads.encode(good, `flow ${this.flowId}`, "progress"),
    );
    if (isThenable(stored)) void stored.then((kept) => this.#keepProgress(kept));
    else this.#keepProgress(stored);
  }

  #keepProgress(stored: Stored): void {
    this.#life.progress = { stored };
  }

  readonly answers: Map<string, (argument: unknown) => unknown> = new Map();

  query(name: string, answer: (argument: unknown) => unknown): void {
    this.answers.set(name, answer);
  }

  #call<T>(
    kind: string,
    key: string,
    how: How,
    { start, extra, finish }: Pick<Call, "start" | "extra" | "finish">,
  ): Promise<T> {
    if (this.#busy) throw new FlowContextError(`${kind} "${key}" was asked in the body of a step`);
    if (!this.ctx.alive) return new Promise<T>(() => undefined);
    let made: Call | undefined;
    const promise = new Promise<T>((resolve, reject) => {
      const call: Call = { kind, key, how, start, extra, finish, resolve, reject };
      made = call;
      this.#life.port.kernel.interception?.gate(
        this.ctx.self.process as WatchedProcess | undefined,
        `${kind} "${key}"`,
        call,
      );
      this.#life.calls.set(key, call);
      if (this.#stall !== undefined) this.ctx.cancel(this.#stall);
      this.#stall = undefined;
      this.event({ type: "asked", kind, key, how, now: this.#life.port.now() });
      const { sought } = this.#life.port;
      if (sought !== undefined && sought.ask.kind === kind && sought.ask.key === key && this.ctx.alive) {
        sought.found(new FlowContextError("here"));
        this.#life.end();
      }
    });
    if (made !== undefined && this.#life.port.kernel.interception !== undefined)
      (made as Call).going = promise;
    return promise;
  }

  askVersion(key: string, from: number, to: number): number {
    this.event({ type: "versioned", key, from, to });
    return this.#answer;
  }
}

const RUN: How = { type: "run", commits: false };
const COMMIT: How = { type: "run", commits: true };
