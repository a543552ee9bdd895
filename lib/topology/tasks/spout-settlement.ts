// Carries out what `retries.ts` decides about the reliable tuples of a spout's process: emits them, emits them again, and calls
// the spout's `ack` or `fail` when they are settled.

import { backoffMs } from "../../process/backoff.js";
import type { Context } from "../../process/context.js";
import { TaskEntry } from "../../process/entries.js";
import type { Monitor } from "../../process/monitor.js";
import { isHeard } from "../../process/onlookers.js";
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

/** What one process of a spout's task consists of. */
export interface SpoutParts {
  readonly run: RunningTopology;
  readonly incarnation: Incarnation;
  readonly ctx: Context<never>;
  readonly options: SpoutDefinition["options"];
  readonly outlet: Outlet;
  readonly inFlight: InFlightTuples;
  readonly pump: Pump;
  /** The context that the spout's functions get. */
  readonly own: AnySpoutContext;
}

export class SpoutSettlement {
  readonly #spout: SpoutParts;
  /** The log has the line that failed tuples reach neither `fail` nor the stream `dead`. */
  #complained = false;

  constructor(spout: SpoutParts) {
    this.#spout = spout;
  }

  /** Goes on when a function of the spout has ended: emits the tuples in line, then calls `next`. */
  after(result: unknown): unknown {
    return whenDone(result, () => {
      const { inFlight, run, pump } = this.#spout;
      for (let next = inFlight.next(); next !== undefined; next = inFlight.next()) this.emit(next);
      run.settlements.notify();
      return pump.go();
    });
  }

  treeEnded(end: TreeEnd): unknown {
    const decision = this.#spout.inFlight.treeEnded(end);
    return this.after(decision === undefined ? undefined : this.#carryOut(decision));
  }

  /** A monitored process has ended. If it was an acker, the trees that it tracked have failed. */
  ackerEnded(ref: Monitor): unknown {
    return this.after(
      inTurn(this.#spout.inFlight.ackerEnded(ref), (decision) =>
        // The task may be killed while a function is awaited. The next process has the rest of the tuples.
        this.#spout.incarnation.alive ? this.#carryOut(decision) : undefined,
      ),
    );
  }

  /** The task ends for good: all tuples that are not settled have failed. */
  abandon(): unknown {
    return inTurn(this.#spout.inFlight.abandon(), (decision) => this.#carryOut(decision));
  }

  // ── emitting ──────────────────────────────────────────────────────────────────────────────────────────────────

  emit(tuple: PendingTuple): void {
    const decision = this.#spout.inFlight.emit(tuple);
    if (decision !== undefined) this.#decideLater(decision);
  }

  /** Emits what the process before this one left unsettled. */
  takeOver(): void {
    for (const tuple of this.#spout.inFlight.takeOver()) this.emit(tuple);
  }

  /** Emits what waits for an acker. */
  emitWaiting(): void {
    for (const decision of this.#spout.inFlight.emitWaiting()) this.#decideLater(decision);
  }

  /** An emit threw. It is handled not within `next`, which may be what emitted the tuple. */
  #decideLater(decision: Decision): void {
    this.#spout.incarnation.process.deliverSignal(new TaskEntry(() => this.after(this.#carryOut(decision))));
  }

  #emitLater(tuple: PendingTuple, attempt: number): void {
    const { run, incarnation, ctx } = this.#spout;
    const { retryBackoff } = incarnation.slot.component.plan.config;
    incarnation.retrying++;
    ctx.runAfter(backoffMs(retryBackoff, attempt, ctx.random()), () => {
      incarnation.retrying--;
      if (tuple.settled) run.settlements.notify();
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
    this.#spout.incarnation.slot.spout.forget(tuple);
    const { context } = tuple;
    if (context === undefined) return this.#callBack(tuple, failure);
    return context.runInAsyncScope(() => this.#callBack(tuple, failure));
  }

  /** Calls the spout's `ack` or `fail`. */
  #callBack(pending: PendingTuple, failure: Failure | undefined): unknown {
    const { outlet, ctx, incarnation, options, own } = this.#spout;
    const { meter } = outlet.stream(pending.stream);
    if (failure === undefined) {
      meter.acked++;
      if (pending.emittedAt !== undefined) {
        const now = ctx.now();
        meter.latency.record(now - pending.emittedAt, now);
      }
      return options.ack?.(pending.id, own);
    }
    if (failure.type === "expired") meter.expired++;
    else meter.failed++;
    incarnation.slot.meter.dead++;
    if (!failure.deadLettered) this.#publishDead(pending);
    return options.fail?.(pending.id, own, failure);
  }

  #publishDead(pending: PendingTuple): void {
    const { run, options } = this.#spout;
    const { events } = run.kernel;
    const { component, log } = this.#spout.own;
    if (events.wants.deadTuple) {
      const { id, stream, values, attempts } = pending;
      events.publish("deadTuple", { topology: run.name, component, stream, id, values, attempts });
    }
    if (options.fail !== undefined || this.#complained || isHeard(events, "deadTuple")) return;
    this.#complained = true;
    log("error", unheard(pending));
  }
}
