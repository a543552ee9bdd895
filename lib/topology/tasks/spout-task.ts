// The process of a spout's task: calls `next` while there is room for more tuples, and `ack` or `fail` when one is settled.

import { backoffMs } from "../../process/backoff.js";
import { type Callbacks, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { type Signal, TaskEntry } from "../../process/entries.js";
import { OptionError } from "../../process/errors.js";
import type { Monitor } from "../../process/monitor.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Process } from "../../process/process.js";
import { isThenable } from "../../process/thenable.js";
import type {
  Failure,
  SpoutContext,
  SpoutDefinition,
  SpoutEmitOptions,
  SpoutOptions,
} from "../definition/component.js";
import type { FullComponentConfig } from "../definition/config.js";
import type { Streams } from "../definition/field.js";
import type { Order } from "../runtime/messages.js";
import type { StreamMeter } from "../runtime/metrics.js";
import { Outlet } from "../runtime/outlet.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { Incarnation, TaskSlot } from "../runtime/task-slots.js";
import { TreeEnd } from "../tracking/acker-machine.js";
import { type PendingTuple, unheard } from "../tracking/pending-tuple.js";
import type { Decision } from "../tracking/retries.js";
import { emitters } from "./emitters.js";
import { InFlightTuples } from "./in-flight.js";
import { initContext, inTurn, processOf, refuseDead, starting, whenDone } from "./task.js";

export type SpoutMessage = TreeEnd | Order;

/** Calls of `next` in a row. After that, other messages have their turn. */
const MOST_CALLS = 64;

const NO_OPTIONS: SpoutEmitOptions<unknown> = {};

/** The behaviour of a task of the spout in this slot. */
export function spoutTask(run: RunningTopology, slot: TaskSlot): Callbacks<SpoutMessage> {
  let task: SpoutTask;
  return {
    init: (ctx) => {
      task = new SpoutTask(run, slot, ctx as Context<never>);
      return starting(run, slot, () => task.start());
    },
    handle: (_ctx, message) => (message instanceof TreeEnd ? task.treeEnded(message) : task.obey(message)),
    signal: (_ctx, signal) => task.receiveSignal(signal),
    terminate: (_ctx, reason) => (reason.type === "crash" ? undefined : task.end()),
  };
}

class SpoutTask {
  private readonly run: RunningTopology;
  private readonly slot: TaskSlot;
  private readonly ctx: Context<never>;
  private readonly process: Process;
  private readonly config: FullComponentConfig;
  private readonly options: SpoutOptions<Streams, unknown, unknown>;
  private readonly pendingTuples: Set<PendingTuple>;
  private incarnation!: Incarnation;
  private outlet!: Outlet;
  private inFlight!: InFlightTuples;
  private own!: SpoutContext<Streams, unknown>;
  private active = false;
  private started = false;
  /** The log has the line that failed tuples reach neither `fail` nor the stream `dead`. */
  private complained = false;
  /** Tuples emitted so far. It shows which calls of `next` emitted nothing. */
  private emitted = 0;
  private idle: TimerRef | undefined = undefined;
  private going = false;

  constructor(run: RunningTopology, slot: TaskSlot, ctx: Context<never>) {
    const { plan } = slot.component;
    this.run = run;
    this.slot = slot;
    this.ctx = ctx;
    this.process = processOf(ctx);
    this.config = plan.config;
    this.options = (plan.definition as SpoutDefinition).options;
    this.pendingTuples = slot.pendingTuples;
  }

  start(): unknown {
    const { run, slot, ctx, options } = this;
    const known = initContext(run, slot, ctx);
    return whenDone(options.init?.(known), (state) => {
      if (!ctx.alive) return undefined;
      this.incarnation = run.incarnations.started(slot, this.process);
      this.outlet = new Outlet(run, this.incarnation);
      this.inFlight = new InFlightTuples(run, this.incarnation, ctx, this.outlet);
      this.own = { ...known, state, emit: this.emitters(), wake: () => this.go(), done: () => this.finish() };
      this.started = true;
      this.takeOver();
      return run.switches.flowing ? this.obey("activate") : undefined;
    });
  }

  treeEnded(end: TreeEnd): unknown {
    const decision = this.inFlight.treeEnded(end);
    return this.thenPump(decision === undefined ? undefined : this.carryOut(decision));
  }

  obey(order: Order): unknown {
    switch (order) {
      case "activate":
        this.takeOver();
        if (this.active) return undefined;
        this.active = true;
        this.incarnation.active = true;
        return this.thenPump(this.options.activate?.(this.own));
      case "deactivate":
        return this.deactivate();
      case "go":
        this.going = false;
        this.takeOver();
        this.emitWaiting();
        return this.pump();
      case "tick":
      case "flush":
        return undefined;
      default:
        return order satisfies never;
    }
  }

  receiveSignal(signal: Signal): unknown {
    if (signal.type === "down") return this.thenPump(this.ackerEnded(signal.ref));
    const ended: Stop | undefined =
      signal.type === "exit" && signal.reason.type !== "normal" ? stop(signal.reason) : undefined;
    return ended;
  }

  /** The task ends without a crash. When the topology ends for good, all tuples that are not settled have failed. */
  end(): unknown {
    if (!this.started) return undefined;
    const ending = this.run.switches.ending || this.slot.leaving;
    return whenDone(
      whenDone(ending ? inTurn(this.inFlight.abandon(), (one) => this.carryOut(one)) : undefined, () =>
        this.deactivate(),
      ),
      () => this.options.close?.(this.own, ending),
    );
  }

  // ── calling next ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether `next` may be called. */
  private get hasRoom(): boolean {
    const { run, slot } = this;
    if (
      !this.active ||
      this.incarnation.asking ||
      slot.retired ||
      slot.done ||
      this.pendingTuples.size >= this.inFlight.limit
    )
      return false;
    run.hooks.flow(slot.component.name, "read");
    return run.switches.flowing && !slot.component.isBlocked;
  }

  private pump(): undefined {
    if (!this.process.alive) return undefined;
    this.cancelIdle();
    for (let calls = 0; this.hasRoom; calls++) {
      if (calls === MOST_CALLS) {
        this.go();
        return undefined;
      }
      const before = this.emitted;
      const result = this.options.next(this.own);
      if (isThenable(result)) {
        this.await(result, before);
        return undefined;
      }
      if (this.emitted === before) {
        this.wait();
        return undefined;
      }
    }
    return undefined;
  }

  /** While an asynchronous `next` runs, the task handles ends of trees, and does not call `next` again. */
  private await(result: PromiseLike<unknown>, before: number): void {
    this.incarnation.asking = true;
    result.then(
      () => {
        this.incarnation.asking = false;
        if (!this.process.alive) return;
        if (this.emitted === before && this.active) this.wait();
        else this.go();
        this.run.settlements.notify();
      },
      (error) => {
        this.incarnation.asking = false;
        this.process.failed(error, undefined);
      },
    );
  }

  private wait(): void {
    if (this.going || this.slot.done || this.idle !== undefined) return;
    this.idle = this.ctx.runAfter(this.config.spoutWaitMs, () => {
      this.idle = undefined;
      this.pump();
    });
  }

  private cancelIdle(): void {
    if (this.idle === undefined) return;
    this.ctx.cancel(this.idle);
    this.idle = undefined;
  }

  private finish(): void {
    refuseDead(this.process);
    this.slot.done = true;
    this.run.settlements.notify();
  }

  /** Calls `next` in a later turn. */
  private go(): void {
    if (this.going || !this.process.alive) return;
    this.going = true;
    this.process.deliver("go");
  }

  private thenPump(result: unknown): unknown {
    return whenDone(result, () => {
      this.emitNext();
      this.run.settlements.notify();
      return this.pump();
    });
  }

  // ── emitting ──────────────────────────────────────────────────────────────────────────────────────────────────

  private emitters(): SpoutContext<Streams, unknown>["emit"] {
    return emitters(this.slot.component.plan, (name, check) => {
      const out = this.outlet.stream(name);
      return (values: object, options: SpoutEmitOptions<unknown> = NO_OPTIONS): void => {
        refuseDead(this.process);
        check?.(values);
        this.emitted++;
        if (options.id !== undefined) this.emitPending(this.inFlight.add(name, values, options));
        else if ("id" in options)
          throw new OptionError(
            `emit.${name}(…).id`,
            undefined,
            "given, or left out for a tuple that is not tracked",
          );
        else this.outlet.emit(out, values, undefined, options === NO_OPTIONS ? undefined : options);
      };
    });
  }

  /** Emits what the process before this one left unsettled. */
  private takeOver(): void {
    for (const tuple of this.inFlight.takeOver()) this.emitPending(tuple);
  }

  /** There may be room: those in line are emitted. */
  private emitNext(): void {
    const { inFlight } = this;
    for (let next = inFlight.next(); next !== undefined; next = inFlight.next()) this.emitPending(next);
  }

  private emitPending(tuple: PendingTuple): void {
    const decision = this.inFlight.emit(tuple);
    if (decision !== undefined) this.decideLater(decision);
  }

  /** Emits what waits for an acker. */
  private emitWaiting(): void {
    for (const decision of this.inFlight.emitWaiting()) this.decideLater(decision);
  }

  /** An emit threw. It is handled not within `next`, which may be what emitted the tuple. */
  private decideLater(decision: Decision): void {
    this.process.deliverSignal(new TaskEntry(() => this.thenPump(this.carryOut(decision))));
  }

  private emitLater(tuple: PendingTuple, attempt: number): void {
    const { ctx, config, incarnation } = this;
    incarnation.retrying++;
    ctx.runAfter(backoffMs(config.retryBackoff, attempt, ctx.random()), () => {
      incarnation.retrying--;
      if (this.inFlight.has(tuple)) this.emitPending(tuple);
      else this.run.settlements.notify();
    });
  }

  // ── settling ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** A promise when a function of the spout is asynchronous. */
  private carryOut(decision: Decision): unknown {
    const { pending } = decision;
    switch (decision.type) {
      case "acked":
        return this.settle(pending, undefined);
      case "retry":
        this.emitLater(pending, decision.attempt);
        return undefined;
      case "letter":
        if (decision.attempt === 0) this.emitPending(pending);
        else this.emitLater(pending, decision.attempt);
        return undefined;
      case "failed":
        return this.settle(pending, decision.failure);
      default:
        return decision satisfies never;
    }
  }

  private ackerEnded(ref: Monitor): unknown {
    return inTurn(this.inFlight.ackerEnded(ref), (decision) =>
      // The task may be killed while a function is awaited. The next process has the rest of the tuples.
      this.incarnation.alive ? this.carryOut(decision) : undefined,
    );
  }

  private settle(tuple: PendingTuple, failure: Failure | undefined): unknown {
    this.inFlight.forget(tuple);
    const { context } = tuple;
    if (context === undefined) return this.callBack(tuple, failure);
    return context.runInAsyncScope(this.callBack, this, tuple, failure);
  }

  /** Calls the spout's `ack` or `fail`. */
  private callBack(pending: PendingTuple, failure: Failure | undefined): unknown {
    const { meter } = this.outlet.stream(pending.stream);
    if (failure !== undefined) return this.callBackFailed(pending, failure, meter);
    meter.acked++;
    if (pending.emittedAt !== undefined) {
      const now = this.ctx.now();
      meter.latency.record(now - pending.emittedAt, now);
    }
    return this.options.ack?.(pending.id, this.own);
  }

  private callBackFailed(pending: PendingTuple, failure: Failure, meter: StreamMeter): unknown {
    if (failure.type === "expired") meter.expired++;
    else meter.failed++;
    this.slot.meter.dead++;
    if (!failure.deadLettered) this.publishDead(pending);
    return this.options.fail?.(pending.id, this.own, failure);
  }

  private publishDead(pending: PendingTuple): void {
    const { events } = this.run.kernel;
    const { component } = this.own;
    if (events.wants.deadTuple) {
      const { id, stream, values, attempts } = pending;
      events.publish("deadTuple", { topology: this.run.name, component, stream, id, values, attempts });
    } else if (this.options.fail === undefined && !this.complained) {
      this.complained = true;
      this.own.log("error", unheard(pending));
    }
  }

  private deactivate(): unknown {
    if (!this.active) return undefined;
    this.active = false;
    this.cancelIdle();
    return whenDone(this.options.deactivate?.(this.own), () => {
      this.incarnation.active = false;
      this.run.settlements.notify();
    });
  }
}
