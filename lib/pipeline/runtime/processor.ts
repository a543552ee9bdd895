// The process of a route on one host. It carries out what processor-machine.ts decides: it asks the ledger for messages, spawns workers,
// gives them work when the gates let them in, and turns the outcome of each message into a step of the ledger.
//
// Its state lives in the object, not in the process: it changes between two messages alone, so a processor that was killed goes on with
// the state at which it was, and the messages at hand of its workers, which died with it, are taken back. Errors of adapters and conditions
// are caught. A throw of the processor's own code means that its state may be wrong: then the whole execution begins again from
// the ledger.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import { OptionError } from "../../process/errors.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason, isOrderly, shutdown } from "../../process/reason.js";
import { reportLate } from "../../process/report-failure.js";
import { spawnIn } from "../../process/spawn-in.js";
import type { Timer } from "../../process/timer-queue.js";
import { AdapterTimeoutError } from "../definition/errors.js";
import type { BatchSettings } from "../definition/resolve.js";
import type { Message } from "../ledger/ledger.js";
import type { RouteFigures } from "../operations/figures.js";
import { AdapterMemory } from "./adapter-memory.js";
import { Adaptive } from "./adaptive.js";
import type { AttemptContext, RouteAttempt } from "./attempt.js";
import {
  type BatchingEffect,
  type BatchingEvent,
  type BatchingState,
  batchPlaceOf,
  decide as decideBatching,
  initial as initialBatching,
} from "./batch-machine.js";
import type { BatchRun } from "./batch-run.js";
import type { RouteBreakers } from "./breakers.js";
import type { ExecutionScope } from "./execution-scope.js";
import type { RoutePlan } from "./plan.js";
import {
  type Batch,
  decide,
  initial,
  type Member,
  type ProcessorEffect,
  type ProcessorEvent,
  type ProcessorState,
  working,
} from "./processor-machine.js";
import type { RouteProgress } from "./progress.js";
import { routeFigures } from "./route-figures.js";
import { RouteMeter } from "./route-meter.js";
import { RouteOutcomes } from "./route-outcomes.js";
import { type MessageRun, Worker, type WorkerProgress } from "./worker.js";

/** The messages of a processor: the outcomes of its workers, and a wake when a notice waits in its inbox. */
export type ProcessorMessage = WorkerProgress | { readonly type: "wake" };

/** Notices for a processor. */
export type ProcessorNotice =
  | ProcessorEvent
  /** All batches are due. */
  | { readonly type: "flush" }
  /** The breakers of the adapters may admit another number of calls. */
  | { readonly type: "room" }
  /** The time of a batch is over. */
  | { readonly type: "late"; readonly key: string }
  /** The execution has ended early: the messages in work are no longer needed. */
  | { readonly type: "abort" };

const NO_MEMORY =
  "absent: an adapter before the batch of its route cannot remember; put it into a route before, or behind the batch";

/** Written out: a spread of objects for each message costs more than the rest of its way to the worker. */
function runOf(worker: number, messages: readonly Message[]): MessageRun {
  return { worker, messages, ended: [], atHand: undefined, isHeld: false, isTold: false, tookMs: 0 };
}

const WAKE: ProcessorMessage = { type: "wake" };

interface WorkerOf {
  readonly pid: Pid<MessageRun | BatchRun>;
  run: MessageRun | BatchRun | undefined;
  /** How many ended attempts of its run were read. */
  read: number;
  /** When its run began, in epochs of the adaptive concurrency. */
  epoch: number;
}

export class Processor implements Callbacks<ProcessorMessage> {
  readonly plan: RoutePlan;
  readonly #scope: ExecutionScope;
  readonly #context: AttemptContext;
  readonly #outcomes: RouteOutcomes;
  readonly #meter = new RouteMeter();
  readonly #loop: EffectLoop<ProcessorState, ProcessorEvent, ProcessorEffect>;
  readonly #workers = new Map<number, WorkerOf>();
  readonly #byPid = new Map<Pid, number>();
  /** The batches that are not due, in a route with batches. */
  readonly #batching:
    | EffectLoop<BatchingState<Member>, BatchingEvent<Member>, BatchingEffect<Member>>
    | undefined;
  readonly #batchTimers = new Map<string, Timer>();
  readonly #adaptive: Adaptive | undefined;
  readonly #breakers: RouteBreakers | undefined;
  /** Ends the watch on the breakers. */
  readonly #unwatch: (() => void) | undefined;
  /** Notices that its process has not taken up. */
  #inbox: ProcessorNotice[] = [];
  #ctx: Context<ProcessorMessage> | undefined;
  /** Adapters that are open. */
  #open = 0;
  #stopping: ExitReason | undefined;
  /** A timer is set that looks for attempts that take too long. */
  #isSweeping = false;
  /** A timer is set that looks at the breakers again. */
  #again: TimerRef | undefined;

  constructor(plan: RoutePlan, scope: ExecutionScope) {
    this.plan = plan;
    this.#scope = scope;
    const { concurrency, prefetch, fanOut, adaptive } = plan.policy;
    const { kernel, permits } = scope;
    this.#breakers = plan.breakers?.(kernel);
    this.#context = attemptContextOf(plan, scope, this.#breakers);
    this.#outcomes = new RouteOutcomes(plan, scope, this.#meter);
    if (adaptive !== "none") {
      const limited = (limit: number): void => this.#limit(limit);
      this.#adaptive = new Adaptive(kernel, this.#context, adaptive, concurrency, limited);
      permits.limit(plan.name, this.#adaptive.limit);
    }
    const first = this.#adaptive?.limit ?? concurrency;
    this.#loop = new EffectLoop(initial({ concurrency, first, prefetch, fanOut }), decide, (effect) =>
      this.#carryOut(effect),
    );
    this.#unwatch = this.#breakers?.watch(() => this.tell({ type: "room" }));
    if (plan.batch !== undefined) {
      const { size, bytes, everyMs } = plan.batch.settings;
      const config = { size, bytes, everyMs, mostHeld: Math.max(size, prefetch) };
      this.#batching = new EffectLoop(initialBatching<Member>(config), decideBatching<Member>, (effect) =>
        this.#carryOutBatching(effect),
      );
    }
  }

  /** Whether its adapters were opened: a process that ends before could not begin. */
  get begun(): boolean {
    return this.#open === this.plan.adapters.length;
  }

  /** How many messages it holds in batches that are not due. */
  get held(): number {
    return this.#batching?.state.held ?? 0;
  }

  /** The progress of the route. */
  get progress(): RouteProgress {
    const { state } = this.#loop;
    const broken = this.#breakers?.broken ?? [];
    const { name: route } = this.plan;
    return {
      route,
      working: working(state),
      limit: state.limit,
      medianMs: this.#adaptive?.medianMs,
      broken,
    };
  }

  /** What a look at the route finds. From now on, for a while, it is measured. */
  figures(): RouteFigures {
    const { kernel, permits } = this.#scope;
    return routeFigures(this.plan, this.#loop.state, {
      held: this.held,
      isFull: permits.isFull,
      breakers: this.#breakers?.states ?? [],
      rates: this.#meter.look(kernel.env.now()),
    });
  }

  /** Tells the processor something, from wherever. Also while its process is being replaced. */
  tell(notice: ProcessorNotice): void {
    this.#scope.kernel.shared?.object(this, "write");
    this.#inbox.push(notice);
    this.#ctx?.alive && this.#ctx.self.process?.deliver(WAKE, undefined);
  }

  // ── the process ──────────────────────────────────────────────────────────────────────────────────────────────

  async init(ctx: Context<ProcessorMessage>): Promise<void> {
    ctx.trapExit(true);
    const isAgain = this.#ctx !== undefined;
    this.#ctx = ctx;
    this.#isSweeping = false;
    this.#again = undefined;
    await this.#closeAdapters();
    await this.#openAdapters(ctx);
    if (isAgain) this.#afterKill();
    this.#admit();
    this.#loop.dispatch({ type: "start" });
    if (this.#inbox.length > 0) ctx.send(ctx.self, WAKE);
  }

  handle(_ctx: Context<ProcessorMessage>, message: ProcessorMessage): void {
    if (message.type === "wake") this.#takeUp();
    else this.#progressed(message.run);
  }

  signal(_ctx: Context<ProcessorMessage>, signal: Signal): void {
    if (signal.type !== "exit") return;
    const worker = this.#byPid.get(signal.from);
    if (worker !== undefined) this.#gone(worker, signal.reason);
  }

  /**
   * Workers come to the end of what they have at hand; held messages stay in the ledger. Where the execution has died, its ledger is
   * closed: nothing of that could be settled, and no process is left to end a worker that takes long.
   */
  parentExit(ctx: Context<ProcessorMessage>, reason: ExitReason): void {
    this.#stopping = reason;
    if (isOrderly(reason)) this.#loop.dispatch({ type: "stop" });
    else this.#scope.kernel.stop(ctx.self.process as never, reason, undefined);
  }

  async terminate(): Promise<void> {
    await this.dispose();
  }

  async #openAdapters(ctx: Context<ProcessorMessage>): Promise<void> {
    const { adapters } = this.plan;
    while (this.#open < adapters.length) {
      await adapters[this.#open]?.adapter.open?.(ctx.signal);
      this.#open++;
    }
  }

  /** Also those that an earlier process of the route had opened. */
  async #closeAdapters(): Promise<void> {
    while (this.#open > 0) {
      const adapter = this.plan.adapters[--this.#open]?.adapter;
      try {
        await adapter?.close?.();
      } catch (error) {
        if (this.#ctx !== undefined) reportLate(this.#scope.kernel, this.#ctx.self, error);
      }
    }
  }

  /** The execution goes away without the process of the route, if that was killed. */
  async dispose(): Promise<void> {
    this.#unwatch?.();
    // The ledger gives the held messages out again.
    for (const key of [...this.#batchTimers.keys()]) this.#carryOutBatching({ type: "cancel timer", key });
    await this.#closeAdapters();
  }

  #takeUp(): void {
    this.#scope.kernel.shared?.object(this, "write");
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const notice of inbox) {
      if (notice.type === "flush" || notice.type === "late") this.#batch(notice);
      else if (notice.type === "room") this.#admit();
      else if (notice.type === "abort") this.#abort();
      else this.#loop.dispatch(notice);
    }
    this.#watchMarks();
  }

  #abort(): void {
    for (const { pid } of this.#workers.values()) this.#ctx?.exit(pid, "kill");
  }

  /** The process before this one was killed, and its workers with it. */
  #afterKill(): void {
    const reason: ExitReason = { type: "killed" };
    for (const worker of [...this.#workers.keys()]) this.#gone(worker, reason);
  }

  // ── effects ──────────────────────────────────────────────────────────────────────────────────────────────────

  #carryOut(effect: ProcessorEffect): unknown {
    const { ledger, permits } = this.#scope;
    switch (effect.type) {
      case "want":
        return ledger.want(this.plan.queue, effect.count);
      case "enter": {
        const { worker } = effect;
        const { pid } = this.#workers.get(worker) ?? this.#spawn(worker);
        const entered: ProcessorEvent = { type: "entered", worker };
        if (permits.enter(pid, this.plan.name, () => this.tell(entered))) this.#loop.dispatch(entered);
        return undefined;
      }
      case "leave": {
        const at = this.#workers.get(effect.worker);
        if (at !== undefined) permits.leave(at.pid);
        return undefined;
      }
      case "assign":
        return this.#assign(runOf(effect.worker, effect.messages));
      case "assign batch":
        return this.#assign({
          worker: effect.worker,
          batch: effect.batch,
          outcome: undefined,
          atHand: undefined,
          isTold: false,
          tookMs: 0,
        });
      case "crashed":
        return this.#outcomes.failed(effect.message, this.#crash, undefined);
      case "batch crashed":
        return this.#due(this.#outcomes.batchFailed(effect.batch, this.#crash));
      case "await below":
        return ledger.awaitBelow(effect.queue, this.plan.policy.highWaterMark);
      case "stopped":
        return this.#stopped();
      default:
        return effect satisfies never;
    }
  }

  #spawn(worker: number): WorkerOf {
    const ctx = this.#ctx as Context<ProcessorMessage>;
    const { kernel, ledger, record } = this.#scope;
    const behaviour = new Worker({
      kernel,
      ledger,
      plan: this.plan,
      context: this.#context,
      isMeasured: this.#adaptive !== undefined,
      processor: ctx.self as Pid<WorkerProgress>,
    });
    const label = `worker of ${this.plan.name}`;
    const pid = spawnIn(kernel, record.trace, label, () =>
      ctx.spawnLink<MessageRun | BatchRun>(behaviour, { label }),
    );
    const made: WorkerOf = { pid, run: undefined, read: 0, epoch: 0 };
    this.#workers.set(worker, made);
    this.#byPid.set(pid, worker);
    return made;
  }

  #assign(run: MessageRun | BatchRun): void {
    const at = this.#workers.get(run.worker);
    if (at === undefined) return;
    at.run = run;
    at.read = 0;
    at.epoch = this.#adaptive?.epoch ?? 0;
    at.pid.process?.deliver(run, undefined);
    const { timeoutMs } = this.plan.policy;
    if (!this.#isSweeping && timeoutMs < Number.POSITIVE_INFINITY) this.#sweepAfter(timeoutMs);
  }

  // All attempts of the route share one timer, which is set for the first of them that may take too long.
  #sweepAfter(ms: number): void {
    this.#isSweeping = true;
    this.#ctx?.runAfter(ms, () => this.#sweep());
  }

  /** Aborts attempts that have taken too long, and ends workers whose attempts do not end then. */
  #sweep(): void {
    this.#isSweeping = false;
    const { timeoutMs, overrunMs } = this.plan.policy;
    const now = this.#scope.kernel.env.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const at of this.#workers.values()) {
      if (at.run === undefined) continue;
      const { atHand } = at.run;
      // As long as it waits for no adapter, its time has not begun.
      const leftMs = Math.min(timeoutMs, (atHand?.beganMs ?? now) + timeoutMs - now);
      if (leftMs <= 0 && atHand !== undefined && atHand.overdue === undefined) this.#tooLong(at, atHand);
      const untilMs = leftMs > 0 ? leftMs : leftMs + overrunMs;
      // A worker may soon begin with another message.
      if (untilMs > 0) nextMs = Math.min(nextMs, untilMs, timeoutMs);
      else this.#ctx?.exit(at.pid, shutdown(atHand?.overdue));
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#sweepAfter(nextMs);
  }

  #tooLong({ epoch }: WorkerOf, attempt: RouteAttempt): void {
    const { name, policy } = this.plan;
    attempt.tooLong(new AdapterTimeoutError(name, attempt.adapter, policy.timeoutMs));
    this.#adaptive?.take({ type: "timed out", epoch });
  }

  #stopped(): void {
    const process = this.#ctx?.self.process;
    if (this.#stopping !== undefined && process !== undefined)
      this.#scope.kernel.stop(process, this.#stopping, undefined);
  }

  // ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Why a worker has exited, for the messages that it had at hand. */
  #crash: unknown;

  #gone(worker: number, reason: ExitReason): void {
    const at = this.#workers.get(worker);
    if (at === undefined) return;
    // Messages that it had finished are not processed a second time.
    const { run } = at;
    if (run !== undefined) {
      this.#progressed(run);
      run.atHand?.lost(reason.type === "shutdown" && reason.detail instanceof AdapterTimeoutError);
    }
    this.#workers.delete(worker);
    this.#byPid.delete(at.pid);
    const error =
      reason.type === "crash" ? reason.error : reason.type === "shutdown" ? reason.detail : undefined;
    this.#crash = error ?? new Error(`its worker exited: ${formatReason(reason)}`);
    this.#loop.dispatch({ type: "down", worker });
  }

  #progressed(run: MessageRun | BatchRun): void {
    const at = this.#workers.get(run.worker);
    // Progress of a run that was read to its end, or of a worker that is gone.
    if (at?.run !== run) return;
    run.isTold = false;
    if ("batch" in run) this.#batched(at, run);
    else this.#worked(at, run);
    this.#watchMarks();
  }

  #batched(at: WorkerOf, run: BatchRun): void {
    const { worker, outcome } = run;
    if (outcome === undefined) return;
    at.run = undefined;
    if (outcome.type === "held") this.#returned(worker);
    else {
      if (outcome.type === "emitted") this.#measured(at, run);
      const { children, again } = this.#outcomes.batched(run.batch, outcome);
      this.#due(again);
      // The step was submitted, so an attempt that recalls now sees the remembered values.
      run.atHand?.release();
      this.#loop.dispatch({ type: "batched", worker, children });
    }
  }

  #worked(at: WorkerOf, run: MessageRun): void {
    const { worker, ended, messages } = run;
    const from = at.read;
    const until = ended.length;
    at.read = until;
    if (until === messages.length || run.isHeld) at.run = undefined;
    if (from < until) {
      if (this.plan.batch === undefined && ended[until - 1]?.outcome === "passed") this.#measured(at, run);
      let children = 0;
      for (let i = from; i < until; i++) children += this.#settled(ended[i] as RouteAttempt);
      this.#loop.dispatch({ type: "worked", worker, count: until - from, children });
    }
    if (run.isHeld) this.#returned(worker);
  }

  #returned(worker: number): void {
    // Before its messages are given to workers again.
    this.#admit();
    this.#loop.dispatch({ type: "returned", worker });
  }

  /** An attempt has succeeded. Where attempts are measured, and more than one worker is allowed, each has one message at a time. */
  #measured({ epoch }: WorkerOf, { tookMs }: MessageRun | BatchRun): void {
    if (this.#adaptive === undefined) return;
    const { inWork, batching, limit } = this.#loop.state;
    this.#adaptive.take({ type: "ended", epoch, tookMs, isFull: inWork + batching >= limit });
  }

  #limit(limit: number): void {
    this.#scope.permits.limit(this.plan.name, limit);
    this.#loop.dispatch({ type: "limit", limit });
  }

  /**
   * As many workers may have work as the breakers admit calls, and those that have it already. A worker that is not admitted all the same,
   * because others were quicker, gives its work back.
   */
  #admit(): void {
    if (this.#breakers === undefined) return;
    const { calls, againMs } = this.#breakers.room();
    this.#loop.dispatch({ type: "admit", most: calls === 0 ? 0 : calls + working(this.#loop.state) });
    this.#againAfter(againMs);
  }

  /** Looks at the breakers again. A timer that is there for a later time is left alone: its look is harmless. */
  #againAfter(ms: number | undefined): void {
    const ctx = this.#ctx;
    if (ms === undefined || ctx === undefined) return;
    if (this.#again !== undefined) ctx.cancel(this.#again);
    this.#again = ctx.runAfter(ms, () => {
      this.#again = undefined;
      this.#admit();
    });
  }

  /** Stops working while a queue behind the route is full. */
  #watchMarks(): void {
    const { watched, policy } = this.plan;
    for (const queue of watched)
      if (this.#scope.ledger.depth(queue) >= policy.highWaterMark)
        this.#loop.dispatch({ type: "above", queue });
  }

  /** Submits the outcome of a message, or adds it to a batch. Returns how many children it has. */
  #settled(attempt: RouteAttempt): number {
    const { message, calls } = attempt;
    try {
      if (attempt.outcome === "failed") this.#outcomes.failed(message, attempt.error, calls);
      else if (this.plan.batch === undefined || attempt.items.length === 0)
        return this.#outcomes.passed(attempt);
      else this.#gather(attempt, this.plan.batch.settings);
    } catch (error) {
      // A condition threw, or a result cannot be stored.
      this.#outcomes.failed(message, error, calls);
    } finally {
      attempt.release();
    }
    return 0;
  }

  // ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────

  #batch(event: BatchingEvent<Member>): void {
    if (this.#batching === undefined) return;
    this.#batching.dispatch(event);
    this.#scope.noteHeld();
  }

  /** @throws OptionError when the message cannot be part of a batch */
  #gather({ message, items, calls, remembered }: RouteAttempt, settings: BatchSettings): void {
    if (remembered !== undefined) throw new OptionError("remember", remembered, NO_MEMORY);
    const { catalogue } = this.#scope;
    const { key, bytes } = batchPlaceOf(settings, items, (value) => catalogue.bytesOf(value));
    this.#batch({
      type: "add",
      key,
      item: { message: { message, items, calls }, values: items.length, bytes },
    });
  }

  #due(batches: readonly Batch[]): void {
    if (batches.length > 0) this.#loop.dispatch({ type: "batches", batches });
  }

  #carryOutBatching(effect: BatchingEffect<Member>): void {
    const { kernel } = this.#scope;
    const { key } = effect;
    switch (effect.type) {
      case "due": {
        const batch: Batch = { key: key === "" ? undefined : key, members: effect.messages };
        this.#due(this.#outcomes.parted(batch));
        return;
      }
      case "set timer": {
        // By the kernel, because the batch outlives a process that was killed.
        const timer = kernel.addTimer(effect.ms, { fire: () => this.tell({ type: "late", key }) });
        this.#batchTimers.set(key, timer);
        return;
      }
      case "cancel timer": {
        const timer = this.#batchTimers.get(key);
        if (timer !== undefined) kernel.cancelTimer(timer);
        this.#batchTimers.delete(key);
        return;
      }
      default:
        effect satisfies never;
    }
  }
}

function attemptContextOf(
  { name, policy }: RoutePlan,
  { kernel, catalogue, record, ledger }: ExecutionScope,
  breakers: RouteBreakers | undefined,
): AttemptContext {
  return {
    pipeline: record.pipeline,
    execution: record.id,
    route: name,
    clock: catalogue.stored === undefined ? undefined : () => kernel.env.wallTime(),
    hash: policy.hashValues ? catalogue.hashOf : undefined,
    kernel,
    trace: record.trace,
    memory: new AdapterMemory(ledger),
    breakers,
  };
}
