// The work of one process of a bolt's task: it calls the bolt's function with each tuple, one after the other or several at once,
// and takes the next tuple when the bolts that it emits to have buffer space.

import type { Context } from "../../process/context.js";
import type { Process } from "../../process/process.js";
import { TERMINATING } from "../../process/process-state.js";
import { isThenable } from "../../process/thenable.js";
import type {
  BoltContext,
  BoltDefinition,
  BoltEmitOptions,
  BoltOptions,
  InitContext,
} from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { Streams } from "../definition/field.js";
import { runGenerator } from "../definition/generator.js";
import { type Settling, settling } from "../definition/settling.js";
import type { Tuple } from "../definition/tuple.js";
import type { Backpressure } from "../runtime/backpressure.js";
import type { BoltTuples } from "../runtime/bolt-tuples.js";
import type { Expiry } from "../runtime/expiry.js";
import { Outlet } from "../runtime/outlet.js";
import type { ReceiveBuffer } from "../runtime/receive-buffer.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { Incarnation, TaskSlot } from "../runtime/task-slots.js";
import { BoltSettlement } from "./bolt-settlement.js";
import { emitters } from "./emitters.js";
import { refuseDead, whenDone } from "./task.js";
import { Timing } from "./watchdog.js";

export class BoltWork {
  /** The context that the bolt's functions get. */
  readonly context: BoltContext<Streams, unknown>;
  readonly tuples: BoltTuples;
  private readonly run: RunningTopology;
  private readonly slot: TaskSlot;
  private readonly process: Process;
  private readonly buffer: ReceiveBuffer;
  private readonly backpressure: Backpressure;
  private readonly expiry: Expiry;
  private readonly outlet: Outlet;
  private readonly settlement: BoltSettlement;
  private readonly options: BoltOptions<Streams, unknown, Tuple>;
  /** How a tuple is settled when the function returns. */
  private readonly returned: Settling;
  /** The most tuples in work at once. */
  private readonly concurrency: number;
  /** By the tuple, if several may be in work; else there is one piece of work at a time. */
  private readonly timing: Timing<Tuple | undefined>;
  /** Called when another tuple can be taken, and when no tuple is in work. */
  private onPlace: (() => void) | undefined = undefined;
  private onQuiet: (() => void) | undefined = undefined;

  constructor(
    run: RunningTopology,
    incarnation: Incarnation,
    ctx: Context<never>,
    known: InitContext,
    state: unknown,
  ) {
    const { slot, process, tuples } = incarnation;
    const { component } = slot;
    const { options } = component.plan.definition as BoltDefinition;
    const { mode = "ack", collects } = options;
    this.options = options;
    this.run = run;
    this.slot = slot;
    this.process = process;
    this.tuples = tuples;
    this.buffer = slot.buffer;
    this.backpressure = component.backpressure;
    this.expiry = run.expiry;
    this.returned = settling(mode, false);
    this.concurrency = component.concurrency;
    this.outlet = new Outlet(run, incarnation);
    this.settlement = new BoltSettlement(run, incarnation, mode, ctx);
    this.timing = new Timing(process, component.name, slot.task, component.plan.config.executeTimeoutMs);
    if (collects) tuples.given = [];
    this.context = {
      ...known,
      state,
      emit: this.emitters(undefined),
      ack: (tuple) => this.settlement.settleHeld(tuple as Tuple, true),
      fail: (tuple) => this.settlement.settleHeld(tuple as Tuple, false),
      ready: () => this.ready(undefined),
      extend: (tuple) => this.extend((tuple as Tuple | undefined) ?? this.tuples.current),
    };
  }

  take(tuple: Tuple): unknown {
    this.buffer.leaves();
    if (this.expiry.isOver(tuple)) {
      this.settlement.discard(tuple);
      return undefined;
    }
    this.settlement.taken(tuple);
    if (this.concurrency > 1) return this.takeBeside(tuple);
    this.tuples.current = tuple;
    const result = this.execute(tuple, this.context);
    if (result !== undefined) return (result as PromiseLike<unknown>).then(this.space);
    return this.space();
  }

  /** Goes on when `tick` or `flush` has ended. A promise when that is asynchronous, or when the next tuple must wait. */
  after(result: unknown, work: string, then: () => void): unknown {
    return whenDone(this.timed(result, work), () => {
      then();
      this.run.settlements.notify();
      return this.space();
    });
  }

  /** A promise that resolves when no tuple is in work; undefined when none is. */
  quiet(): Promise<void> | undefined {
    if (this.tuples.inWork.size === 0) return undefined;
    return new Promise((resolve) => {
      this.onQuiet = resolve;
    });
  }

  // ── one tuple ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Calls the function with a tuple. A promise when it is asynchronous. */
  private execute(tuple: Tuple, context: BoltContext<Streams, unknown>): unknown {
    if (this.returned === "hold") return this.executeManual(tuple, context);
    let result: unknown;
    try {
      result = this.options.execute(tuple, context);
      if (result !== undefined) result = runGenerator(result, context.ready);
    } catch (error) {
      this.threw(tuple, error);
      return undefined;
    }
    if (isThenable(result)) return this.await(tuple, this.timed(result, tuple));
    this.done(tuple);
    return undefined;
  }

  private executeManual(tuple: Tuple, context: BoltContext<Streams, unknown>): unknown {
    this.tuples.held.add(tuple);
    const result = runGenerator(this.options.execute(tuple, context), context.ready);
    if (isThenable(result)) return this.timed(result, tuple).then(() => this.free(tuple));
    this.free(tuple);
    return undefined;
  }

  /** Works on a tuple while others are in work. A promise when the next tuple must wait for one of them. */
  private takeBeside(tuple: Tuple): unknown {
    const { inWork } = this.tuples;
    inWork.add(tuple);
    const result = this.execute(tuple, {
      ...this.context,
      emit: this.emitters(tuple),
      ready: () => this.ready(tuple),
      extend: (other) => this.extend((other as Tuple | undefined) ?? tuple),
    });
    if (isThenable(result)) result.then(undefined, (error) => this.process.failed(error, tuple));
    if (inWork.size < this.concurrency) return this.space();
    return new Promise<void>((resolve) => {
      this.onPlace = resolve;
    }).then(this.space);
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
    const now = this.settlement.executed(tuple);
    this.leave(tuple);
    this.settlement.settle(tuple, this.returned === "ack", now);
  }

  /** The bolt holds the tuple, or has settled it. */
  private free(tuple: Tuple): void {
    this.settlement.executed(tuple);
    this.leave(tuple);
    this.run.settlements.notify();
  }

  /** The tuple fails and the task goes on. A bolt that is to crash has mode `manual`, or calls `ctx.process.exit`. */
  private threw(tuple: Tuple, error: unknown): void {
    // An exit that the function called is no failure of the function.
    const { alive, state } = this.process;
    if (!alive || (state === TERMINATING && this.concurrency === 1)) throw error;
    this.leave(tuple);
    this.context.log("error", () => `failed a tuple of ${tuple.component}.${tuple.stream}: ${textOf(error)}`);
    this.settlement.settle(tuple, false, undefined);
  }

  /** The function has ended: tuples that are emitted from now on are not anchored to this tuple. */
  private leave(tuple: Tuple): void {
    const { tuples } = this;
    tuples.current = undefined;
    if (this.concurrency > 1) {
      tuples.inWork.delete(tuple);
      this.onPlace?.();
      this.onPlace = undefined;
      if (tuples.inWork.size === 0) this.onQuiet?.();
    }
    this.run.hooks.loadChanged(this.slot);
  }

  // ── time and buffer space ─────────────────────────────────────────────────────────────────────────────────────

  private timed<R>(result: R, work: Tuple | string): R {
    return this.timing.timed(
      result,
      work,
      this.concurrency > 1 && typeof work !== "string" ? work : undefined,
    );
  }

  private extend(tuple: Tuple | undefined): void {
    if (this.settlement.extend(tuple)) this.timing.restart(this.concurrency > 1 ? tuple : undefined);
  }

  /** A promise while a bolt that this bolt emits to has no buffer space: the next tuple waits for it. */
  private readonly space = (): Promise<void> | undefined => this.backpressure.wait(this.process);

  /** The same in the middle of a tuple. @param of - undefined: the tuple that the task is working on */
  private ready(of: Tuple | undefined): Promise<void> | undefined {
    refuseDead(this.process);
    const wait = this.space();
    return wait === undefined ? undefined : this.untilReady(of, wait);
  }

  private async untilReady(of: Tuple | undefined, first: Promise<void>): Promise<void> {
    this.timing.pause(of);
    for (let wait: Promise<void> | undefined = first; wait !== undefined; wait = this.space()) await wait;
    this.timing.goOn(of);
  }

  // ── emitting ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** @param of - the default anchor; undefined: the tuple that the task is working on at the time of the emit */
  private emitters(of: Tuple | undefined): BoltContext<Streams, unknown>["emit"] {
    return emitters(this.slot.component.plan, (name, check) => {
      const out = this.outlet.stream(name);
      return (values: object, options?: BoltEmitOptions): void => {
        check?.(values);
        this.outlet.emit(
          out,
          values,
          options === undefined || options.anchors === undefined
            ? (of ?? this.tuples.current)
            : (options.anchors as Tuple | readonly Tuple[]),
          options,
        );
      };
    });
  }
}
