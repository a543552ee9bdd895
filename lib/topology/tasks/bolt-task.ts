// The process of a bolt's task: calls the bolt's function with each tuple, and settles the tuple as the bolt's mode says.

import { type Callbacks, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import { OptionError } from "../../process/errors.js";
import type { Process } from "../../process/process.js";
import { TERMINATING } from "../../process/process-state.js";
import { isThenable } from "../../process/thenable.js";
import type { BoltContext, BoltDefinition, BoltEmitOptions, BoltOptions } from "../definition/component.js";
import { BoltModeError, SettledError, textOf } from "../definition/errors.js";
import type { Streams } from "../definition/field.js";
import { runGenerator } from "../definition/generator.js";
import { type Settling, settling } from "../definition/settling.js";
import { EXPIRED, FAILED, TAKEN, Tuple } from "../definition/tuple.js";
import type { Channel } from "../runtime/channels.js";
import type { Expiry } from "../runtime/expiry.js";
import { Lineage } from "../runtime/lineage.js";
import type { Order } from "../runtime/messages.js";
import { Outlet } from "../runtime/outlet.js";
import { RoomWait } from "../runtime/room.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { ComponentRun, Incarnation, TaskSlot } from "../runtime/task-slots.js";
import { LIFE_IN_BEATS } from "../tracking/admission.js";
import { emitters } from "./emitters.js";
import { initContext, processOf, refuseDead, Sampler, starting, whenDone } from "./task.js";
import { Timing } from "./watchdog.js";

export type BoltMessage = Tuple | Order;

/** The behaviour of a task of the bolt in this slot. */
export function boltTask(run: RunningTopology, slot: TaskSlot): Callbacks<BoltMessage> {
  let task: BoltTask;
  return {
    init: (ctx) => {
      task = new BoltTask(run, slot, ctx as Context<never>);
      return starting(run, slot, () => task.start());
    },
    handle: (_ctx, message) => (message instanceof Tuple ? task.take(message) : task.obey(message)),
    signal: (_ctx, signal) => task.receiveSignal(signal),
    terminate: (_ctx, reason) => (reason.type === "crash" ? undefined : task.end()),
  };
}

class BoltTask {
  private readonly run: RunningTopology;
  private readonly slot: TaskSlot;
  private readonly ctx: Context<never>;
  private readonly process: Process;
  private readonly options: BoltOptions<Streams, unknown, Tuple>;
  /** How a tuple is settled when the function returns. */
  private readonly returned: Settling;
  private readonly sampler: Sampler;
  private readonly expiry: Expiry;
  private incarnation!: Incarnation;
  private outlet!: Outlet;
  private own!: BoltContext<Streams, unknown>;
  /** The tuple that the task is working on: emitted tuples are anchored to it. */
  private at: Tuple | undefined = undefined;
  private active = false;
  private started = false;
  /** The most tuples in work at once. */
  private readonly concurrency: number;
  /** Called when another tuple can be taken, and when no tuple is in work. */
  private onPlace: (() => void) | undefined = undefined;
  private onQuiet: (() => void) | undefined = undefined;
  private readonly component: ComponentRun;
  /** By the tuple, if several may be in work; else there is one piece of work at a time. */
  private readonly timing: Timing<Tuple | undefined>;

  constructor(run: RunningTopology, slot: TaskSlot, ctx: Context<never>) {
    this.run = run;
    this.slot = slot;
    this.ctx = ctx;
    this.process = processOf(ctx);
    this.expiry = run.expiry;
    this.options = (slot.component.plan.definition as BoltDefinition).options;
    this.returned = settling(this.options.mode ?? "ack", false);
    this.component = slot.component;
    this.timing = new Timing(
      this.process,
      slot.component.name,
      slot.task,
      slot.component.plan.config.executeTimeoutMs,
    );
    this.concurrency = slot.component.concurrency;
    this.sampler = new Sampler(slot.component.plan.config.sampleRate, ctx);
  }

  start(): unknown {
    const { run, slot, ctx, options } = this;
    const known = new Lineage(run, slot).into(initContext(run, slot, ctx));
    return whenDone(options.init?.(known), (state) => {
      if (!ctx.alive) return undefined;
      this.incarnation = run.incarnations.started(slot, this.process);
      if (options.collects) this.incarnation.given = [];
      this.outlet = new Outlet(run, this.incarnation);
      this.own = {
        ...known,
        state,
        emit: this.emitters(),
        ack: (tuple) => this.settleOwn(tuple as Tuple, true),
        fail: (tuple) => this.settleOwn(tuple as Tuple, false),
        ready: () => this.ready(undefined),
        extend: (tuple) => this.extend(tuple as Tuple | undefined, undefined),
      };
      this.started = true;
      return run.switches.running && !run.switches.paused ? this.activate() : undefined;
    });
  }

  take(tuple: Tuple): unknown {
    this.slot.leaves();
    this.run.hooks.taken(this.slot);
    const { meter } = tuple.channel as Channel;
    if (this.expiry.beats - tuple.born >= LIFE_IN_BEATS && this.expiry.isOver(tuple)) {
      tuple.state = FAILED;
      meter.expired++;
      this.run.settlements.notify();
      return undefined;
    }
    tuple.state = TAKEN;
    meter.executed++;
    if (this.sampler.due()) tuple.takenAt = this.ctx.now();
    if (this.concurrency > 1) return this.takeBeside(tuple);
    this.at = tuple;
    this.incarnation.current = tuple;
    const result = this.work(tuple, this.own);
    if (result !== undefined) return (result as PromiseLike<unknown>).then(this.room);
    return this.waitForRoom();
  }

  obey(order: Order): unknown {
    const { options, own } = this;
    switch (order) {
      case "activate":
        return this.activate();
      case "deactivate":
        return this.deactivate();
      case "tick":
        this.slot.ticking = false;
        return whenDone(this.timed(options.tick?.(own), "its tick"), () => {
          this.run.settlements.notify();
          return this.room();
        });
      case "flush":
        return whenDone(this.timed(options.flush?.(own), "its flush"), () => {
          this.incarnation.flushing = false;
          this.run.settlements.notify();
          return this.room();
        });
      case "go":
        return undefined;
      default:
        return order satisfies never;
    }
  }

  /** A linked process has ended. The task ends with it, unless that process ended normally. */
  receiveSignal(signal: Signal): Stop | undefined {
    return signal.type === "exit" && signal.reason.type !== "normal" ? stop(signal.reason) : undefined;
  }

  end(): unknown {
    if (!this.started) return undefined;
    const final = (): boolean => this.run.switches.ending || this.slot.leaving;
    return whenDone(
      whenDone(this.quiet(), () => this.deactivate()),
      () => this.options.close?.(this.own, final()),
    );
  }

  // ── one tuple ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Works on a tuple. A promise when `execute` is asynchronous. */
  private work(tuple: Tuple, own: BoltContext<Streams, unknown>): unknown {
    if (this.returned === "hold") return this.workManual(tuple, own);
    let result: unknown;
    try {
      result = this.options.execute(tuple, own);
      if (result !== undefined) result = runGenerator(result, own.ready);
    } catch (error) {
      this.threw(tuple, error);
      return undefined;
    }
    if (isThenable(result)) return this.await(tuple, this.timed(result, tuple));
    this.done(tuple);
    return undefined;
  }

  /** Works on a tuple while others are in work. A promise when the next tuple must wait for one of them. */
  private takeBeside(tuple: Tuple): unknown {
    const { inWork } = this.incarnation;
    inWork.add(tuple);
    const result = this.work(tuple, {
      ...this.own,
      emit: this.emitters(tuple),
      ready: () => this.ready(tuple),
      extend: (other) => this.extend(other as Tuple | undefined, tuple),
    });
    if (isThenable(result)) result.then(undefined, (error) => this.process.failed(error, tuple));
    if (inWork.size < this.concurrency) return this.room();
    return new Promise<void>((resolve) => {
      this.onPlace = resolve;
    }).then(this.room);
  }

  /** A promise that resolves when no tuple is in work; undefined when none is. */
  private quiet(): Promise<void> | undefined {
    if (this.incarnation.inWork.size === 0) return undefined;
    return new Promise((resolve) => {
      this.onQuiet = resolve;
    });
  }

  private workManual(tuple: Tuple, own: BoltContext<Streams, unknown>): unknown {
    this.incarnation.held.add(tuple);
    const result = runGenerator(this.options.execute(tuple, own), own.ready);
    if (isThenable(result)) return this.timed(result, tuple).then(() => this.free(tuple));
    this.free(tuple);
    return undefined;
  }

  private free(tuple: Tuple): void {
    this.timeExecution(tuple);
    this.leave(tuple);
    this.run.settlements.notify();
  }

  private timed<R>(result: R, work: Tuple | string): R {
    return this.timing.timed(
      result,
      work,
      this.concurrency > 1 && typeof work !== "string" ? work : undefined,
    );
  }

  /** A promise while a bolt that this bolt emits to has no room: the next tuple waits for it. */
  private waitForRoom(): Promise<void> | undefined {
    const { component, process, run } = this;
    run.hooks.flow(component.name, "read");
    return component.isHeldUp && process.alive ? new RoomWait(process, component.waiters).promise : undefined;
  }

  private readonly room = (): Promise<void> | undefined => this.waitForRoom();

  /** The same in the middle of a tuple. @param of - undefined: the tuple that the task is working on */
  private ready(of: Tuple | undefined): Promise<void> | undefined {
    refuseDead(this.process);
    const wait = this.room();
    return wait === undefined ? undefined : this.untilReady(of, wait);
  }

  private async untilReady(of: Tuple | undefined, first: Promise<void>): Promise<void> {
    this.timing.pause(of);
    for (let wait: Promise<void> | undefined = first; wait !== undefined; wait = this.room()) await wait;
    this.timing.goOn(of);
  }

  private extend(given: Tuple | undefined, of: Tuple | undefined): void {
    refuseDead(this.process);
    const tuple = given ?? of ?? this.at;
    if (tuple === undefined)
      throw new OptionError("extend(tuple)", tuple, "a tuple, since none is at hand just now");
    if (tuple.state === EXPIRED) return;
    if (tuple.state !== TAKEN) throw this.settledError(tuple);
    this.run.acking.extend(tuple);
    this.timing.restart(this.concurrency > 1 ? tuple : undefined);
  }

  private await(tuple: Tuple, result: PromiseLike<unknown>): PromiseLike<unknown> {
    return result.then(
      () => {
        // If the task has ended, the system task fails the tuple.
        if (this.process.alive) this.done(tuple);
      },
      (error) => {
        if (!this.process.alive) throw error;
        this.threw(tuple, error);
      },
    );
  }

  private done(tuple: Tuple): void {
    const now = this.timeExecution(tuple);
    this.leave(tuple);
    this.settle(tuple, this.returned === "ack", now);
  }

  /** The tuple fails and the task goes on. A bolt that is to crash has mode `manual`, or calls `ctx.process.exit`. */
  private threw(tuple: Tuple, error: unknown): void {
    // An exit that the function called is no failure of the function.
    const { alive, state } = this.process;
    if (!alive || (state === TERMINATING && this.concurrency === 1)) throw error;
    this.leave(tuple);
    this.own.log("error", () => `failed a tuple of ${tuple.component}.${tuple.stream}: ${textOf(error)}`);
    this.settle(tuple, false, undefined);
  }

  /** The function has ended: tuples that are emitted from now on are not anchored to this tuple. */
  private leave(tuple: Tuple): void {
    this.at = undefined;
    this.incarnation.current = undefined;
    if (this.concurrency > 1) {
      this.incarnation.inWork.delete(tuple);
      this.onPlace?.();
      this.onPlace = undefined;
      if (this.incarnation.inWork.size === 0) this.onQuiet?.();
    }
    this.run.hooks.loadChanged(this.slot);
  }

  /** @param now - the time, if it was read just before */
  private settle(tuple: Tuple, good: boolean, now: number | undefined): void {
    const { meter } = tuple.channel as Channel;
    if (good) {
      meter.acked++;
      this.run.acking.ack(tuple);
    } else {
      meter.failed++;
      this.run.acking.fail(tuple);
    }
    if (tuple.takenAt !== undefined) {
      const end = now ?? this.ctx.now();
      meter.process.record(end - tuple.takenAt, end);
    }
    this.run.settlements.notify();
  }

  private settleOwn(tuple: Tuple, good: boolean): void {
    refuseDead(this.process);
    const { mode = "ack" } = this.options;
    if (mode !== "manual") throw new BoltModeError(this.slot.component.name, this.slot.task, mode);
    if (tuple?.state === EXPIRED) return;
    if (!this.incarnation.held.delete(tuple)) throw this.settledError(tuple);
    this.settle(tuple, good, undefined);
  }

  private settledError(tuple: Tuple): SettledError {
    return new SettledError(this.component.name, this.slot.task, `${tuple?.component}.${tuple?.stream}`);
  }

  /** The function has ended. Returns the time, if the latency of the tuple is measured. */
  private timeExecution(tuple: Tuple): number | undefined {
    if (tuple.takenAt === undefined) return undefined;
    const now = this.ctx.now();
    (tuple.channel as Channel).meter.execute.record(now - tuple.takenAt, now);
    return now;
  }

  // ── emitting and hooks ────────────────────────────────────────────────────────────────────────────────────────────────

  /** @param of - the default anchor; undefined: the tuple that the task is working on at the time of the emit */
  private emitters(of?: Tuple): BoltContext<Streams, unknown>["emit"] {
    return emitters(this.slot.component.plan, (name, check) => {
      const out = this.outlet.stream(name);
      return (values: object, options?: BoltEmitOptions): void => {
        check?.(values);
        this.outlet.emit(
          out,
          values,
          options === undefined || options.anchors === undefined
            ? (of ?? this.at)
            : (options.anchors as Tuple | readonly Tuple[]),
          options,
        );
      };
    });
  }

  private activate(): unknown {
    if (this.active) return undefined;
    this.active = true;
    return this.options.activate?.(this.own);
  }

  private deactivate(): unknown {
    if (!this.active) return undefined;
    this.active = false;
    return this.options.deactivate?.(this.own);
  }
}
