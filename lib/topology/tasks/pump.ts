// When a spout's `next` is called: again and again while more tuples may be in flight and the bolts have buffer space; after a call
// that emitted nothing, when the spout's wait is over.

import type { Context } from "../../process/context.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Process } from "../../process/process.js";
import { isThenable } from "../../process/thenable.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { Incarnation, TaskSlot } from "../runtime/task-slots.js";
import type { InFlightTuples } from "./in-flight.js";

/** Calls of `next` in a row. After that, other messages have their turn. */
const MOST_CALLS = 64;

export class Pump {
  /** Between `activate` and `deactivate`. */
  private active = false;
  /** Tuples emitted so far. It shows which calls of `next` emitted nothing. */
  private emitted = 0;
  /** A message `go` is in the mailbox. */
  private going = false;
  private readonly run: RunningTopology;
  private readonly incarnation: Incarnation;
  private readonly slot: TaskSlot;
  private readonly process: Process;
  private readonly ctx: Context<never>;
  private readonly inFlight: InFlightTuples;
  private readonly next: () => unknown;
  private idle: TimerRef | undefined = undefined;

  constructor(
    run: RunningTopology,
    incarnation: Incarnation,
    ctx: Context<never>,
    inFlight: InFlightTuples,
    next: () => unknown,
  ) {
    this.run = run;
    this.incarnation = incarnation;
    this.slot = incarnation.slot;
    this.process = incarnation.process;
    this.ctx = ctx;
    this.inFlight = inFlight;
    this.next = next;
  }

  /** `next` may be called from now on. False when it may already. */
  activate(): boolean {
    if (this.active) return false;
    this.active = true;
    return true;
  }

  /** `next` is not called any more. False when it is not called already. */
  deactivate(): boolean {
    if (!this.active) return false;
    this.active = false;
    this.rest();
    return true;
  }

  /** The spout emits a tuple. */
  emits(): void {
    this.emitted++;
  }

  /** The message `go` is out of the mailbox. */
  called(): void {
    this.going = false;
  }

  /** Calls `next` in a later turn. */
  goLater(): void {
    if (this.going || !this.process.alive) return;
    this.going = true;
    this.process.deliver("go");
  }

  /** Calls `next` as often as it may be called now. */
  go(): undefined {
    if (!this.process.alive) return undefined;
    this.rest();
    for (let calls = 0; this.mayCall; calls++) {
      if (calls === MOST_CALLS) {
        this.goLater();
        return undefined;
      }
      const before = this.emitted;
      const result = this.next();
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

  /** Ends the wait of a spout that had nothing to emit. */
  private rest(): void {
    if (this.idle === undefined) return;
    this.ctx.cancel(this.idle);
    this.idle = undefined;
  }

  private get mayCall(): boolean {
    const { slot, incarnation, inFlight } = this;
    if (!this.active || incarnation.asking || slot.retired || slot.spout.done) return false;
    if (slot.spout.pending.size >= inFlight.limit) return false;
    // In this order: `isBlocked` declares the read of the load to an exhaustive search, whether or not tuples flow.
    return !slot.component.backpressure.isBlocked && this.run.switches.flowing;
  }

  /** While an asynchronous `next` runs, the task handles ends of trees, and does not call `next` again. */
  private await(result: PromiseLike<unknown>, before: number): void {
    this.incarnation.asking = true;
    result.then(
      () => {
        this.incarnation.asking = false;
        if (!this.process.alive) return;
        if (this.emitted === before && this.active) this.wait();
        else this.goLater();
        this.run.settlements.notify();
      },
      (error) => {
        this.incarnation.asking = false;
        this.process.failed(error, undefined);
      },
    );
  }

  private wait(): void {
    if (this.going || this.slot.spout.done || this.idle !== undefined) return;
    this.idle = this.ctx.runAfter(this.slot.component.plan.config.spoutWaitMs, () => {
      this.idle = undefined;
      this.go();
    });
  }
}
