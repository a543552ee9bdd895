// Carries out what `retries.ts` decides about the reliable tuples of a spout's process: emits them, emits them again, and calls
// the spout's `ack` or `fail` when they are settled.

import { backoffMs } from "../../process/backoff.js";
import type { Context } from "../../process/context.js";
import { TaskEntry } from "../../process/entries.js";
import type { Monitor } from "../../process/monitor.js";
import type { Failure, SpoutContext, SpoutDefinition } from "../definition/component.js";
import type { Streams } from "../definition/field.js";
import type { Outlet } from "../runtime/outlet.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { Incarnation } from "../runtime/task-slots.js";
import type { TreeEnd } from "../tracking/acker-machine.js";
import { type PendingTuple, unheard } from "../tracking/pending-tuple.js";
import type { Decision } from "../tracking/retries.js";
import type { InFlightTuples } from "./in-flight.js";
import type { Pump } from "./pump.js";
import { inTurn, whenDone } from "./task.js";

/** The context of a spout's functions. */
export type AnySpoutContext = SpoutContext<Streams, unknown>;

export class SpoutSettlement {
  readonly #run: RunningTopology;
  readonly #incarnation: Incarnation;
  readonly #ctx: Context<never>;
  readonly #outlet: Outlet;
  readonly #inFlight: InFlightTuples;
  readonly #pump: Pump;
  readonly #options: SpoutDefinition["options"];
  readonly #own: () => AnySpoutContext;
  /** The log has the line that failed tuples reach neither `fail` nor the stream `dead`. */
  #complained = false;

  constructor(
    run: RunningTopology,
    incarnation: Incarnation,
    ctx: Context<never>,
    outlet: Outlet,
    inFlight: InFlightTuples,
    pump: Pump,
    own: () => AnySpoutContext,
  ) {
    this.#run = run;
    this.#incarnation = incarnation;
    this.#ctx = ctx;
    this.#outlet = outlet;
    this.#inFlight = inFlight;
    this.#pump = pump;
    this.#options = (incarnation.slot.component.plan.definition as SpoutDefinition).options;
    this.#own = own;
  }

  /** Goes on when a function of the spout has ended: emits the tuples in line, then calls `next`. */
  after(result: unknown): unknown {
    return whenDone(result, () => {
      for (let next = this.#inFlight.next(); next !== undefined; next = this.#inFlight.next())
        this.emit(next);
      this.#run.settlements.notify();
      return this.#pump.go();
    });
  }

  treeEnded(end: TreeEnd): unknown {
    const decision = this.#inFlight.treeEnded(end);
    return this.after(decision === undefined ? undefined : this.#carryOut(decision));
  }

  /** A monitored process has ended. If it was an acker, the trees that it tracked have failed. */
  ackerEnded(ref: Monitor): unknown {
    return this.after(
      inTurn(this.#inFlight.ackerEnded(ref), (decision) =>
        // The task may be killed while a function is awaited. The next process has the rest of the tuples.
        this.#incarnation.alive ? this.#carryOut(decision) : undefined,
      ),
    );
  }

  /** The task ends for good: all tuples that are not settled have failed. */
  abandon(): unknown {
    return inTurn(this.#inFlight.abandon(), (decision) => this.#carryOut(decision));
  }

  // ── emitting ──────────────────────────────────────────────────────────────────────────────────────────────────

  emit(tuple: PendingTuple): void {
    const decision = this.#inFlight.emit(tuple);
    if (decision !== undefined) this.#decideLater(decision);
  }

  /** Emits what the process before this one left unsettled. */
  takeOver(): void {
    for (const tuple of this.#inFlight.takeOver()) this.emit(tuple);
  }

  /** Emits what waits for an acker. */
  emitWaiting(): void {
    for (const decision of this.#inFlight.emitWaiting()) this.#decideLater(decision);
  }

  /** An emit threw. It is handled not within `next`, which may be what emitted the tuple. */
  #decideLater(decision: Decision): void {
    this.#incarnation.process.deliverSignal(new TaskEntry(() => this.after(this.#carryOut(decision))));
  }

  #emitLater(tuple: PendingTuple, attempt: number): void {
    const incarnation = this.#incarnation;
    const { retryBackoff } = incarnation.slot.component.plan.config;
    incarnation.retrying++;
    this.#ctx.runAfter(backoffMs(retryBackoff, attempt, this.#ctx.random()), () => {
      incarnation.retrying--;
      if (tuple.settled) this.#run.settlements.notify();
      else this.emit(tuple);
    });
  }

  // ── settling ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** A promise when a function of the spout is asynchronous. */
  #carryOut(decision: Decision): unknown {
    const { pending } = decision;
    switch (decision.type) {
      case "acked":
        return this.#settle(pending, undefined);
      case "retry":
        this.#emitLater(pending, decision.attempt);
        return undefined;
      case "letter":
        if (decision.attempt === 0) this.emit(pending);
        else this.#emitLater(pending, decision.attempt);
        return undefined;
      case "failed":
        return this.#settle(pending, decision.failure);
      default:
        return decision satisfies never;
    }
  }

  #settle(tuple: PendingTuple, failure: Failure | undefined): unknown {
    this.#incarnation.slot.spout.forget(tuple);
    const { context } = tuple;
    if (context === undefined) return this.#callBack(tuple, failure);
    return context.runInAsyncScope(() => this.#callBack(tuple, failure));
  }

  /** Calls the spout's `ack` or `fail`. */
  #callBack(pending: PendingTuple, failure: Failure | undefined): unknown {
    const { meter } = this.#outlet.stream(pending.stream);
    if (failure === undefined) {
      meter.acked++;
      if (pending.emittedAt !== undefined) {
        const now = this.#ctx.now();
        meter.latency.record(now - pending.emittedAt, now);
      }
      return this.#options.ack?.(pending.id, this.#own());
    }
    if (failure.type === "expired") meter.expired++;
    else meter.failed++;
    this.#incarnation.slot.meter.dead++;
    if (!failure.deadLettered) this.#publishDead(pending);
    return this.#options.fail?.(pending.id, this.#own(), failure);
  }

  #publishDead(pending: PendingTuple): void {
    const { events } = this.#run.kernel;
    const { component, log } = this.#own();
    if (events.wants.deadTuple) {
      const { id, stream, values, attempts } = pending;
      events.publish("deadTuple", { topology: this.#run.name, component, stream, id, values, attempts });
    } else if (this.#options.fail === undefined && !this.#complained) {
      this.#complained = true;
      log("error", unheard(pending));
    }
  }
}
