// The reliable tuples of a spout's task in flight: emitted as trees, at most `maxPending` at a time. `retries.ts` decides about each
// tuple; the spout's task carries the decisions out.

import type { Context } from "../../process/context.js";
import { invariant } from "../../process/invariant.js";
import { EMPTY, Mailbox } from "../../process/mailbox.js";
import type { Monitor } from "../../process/monitor.js";
import type { Process } from "../../process/process.js";
import { captureSenderContext } from "../../process/sender-context.js";
import type { EmitOptions, SpoutEmitOptions } from "../definition/component.js";
import type { FullComponentConfig } from "../definition/config.js";
import { isPrompt } from "../definition/downstream.js";
import { textOf } from "../definition/errors.js";
import type { NewTree, Outlet } from "../runtime/outlet.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { SpoutTuples } from "../runtime/spout-tuples.js";
import type { Incarnation, TaskSlot } from "../runtime/task-slots.js";
import { COMPLETED, EXPIRED, FAILED, REFUSED, RETURNED, type TreeEnd } from "../tracking/acker-machine.js";
import { Admission } from "../tracking/admission.js";
import { letterOf, newPendingTuple, type PendingTuple } from "../tracking/pending-tuple.js";
import type { Decision } from "../tracking/retries.js";
import { Sampler } from "./task.js";

const CAUSES = {
  [FAILED]: "failed",
  [REFUSED]: "failed",
  [EXPIRED]: "expired",
  [RETURNED]: "returned",
} as const;

/** A component logs a congestion at most once in this time. */
const CONGESTION_LOG_MS = 30_000;

const NONE: readonly Decision[] = [];

export class InFlightTuples {
  private readonly run: RunningTopology;
  private readonly incarnation: Incarnation;
  private readonly slot: TaskSlot;
  private readonly ctx: Context<never>;
  private readonly outlet: Outlet;
  private readonly config: FullComponentConfig;
  private readonly tuples: SpoutTuples;
  private readonly sampler: Sampler;
  /** Tuples that wait until fewer are in flight: emitted in one call of `next` with others, or to be tried again. */
  private readonly line = new Mailbox();
  /** Tuples that wait until an acker runs, in the order in which they were to be emitted. */
  private readonly unplanted: PendingTuple[] = [];
  /** The ackers of the trees in flight, each with the monitor that reports its end. */
  private readonly ackers = new Map<Process, Monitor>();
  private tookOver = false;
  private readonly admission: Admission | undefined;

  constructor(run: RunningTopology, incarnation: Incarnation, ctx: Context<never>, outlet: Outlet) {
    const { slot } = incarnation;
    const { plan } = slot.component;
    this.run = run;
    this.incarnation = incarnation;
    this.slot = slot;
    this.ctx = ctx;
    this.outlet = outlet;
    this.config = plan.config;
    this.tuples = slot.spout;
    const letters = run.blueprint.subscriptions.some(
      ({ from, stream }) => from === plan.name && stream === "dead",
    );
    slot.spout.begin(plan.config.retries, letters);
    this.sampler = new Sampler(plan.config.sampleRate, ctx);
    this.admission = isPrompt(plan.name, run.blueprint) ? new Admission(plan.config.maxPending) : undefined;
  }

  /** Trees that may be in flight: `maxPending`, or fewer while the bolts cannot finish as many before they expire. */
  get limit(): number {
    return this.admission === undefined ? this.config.maxPending : this.admission.limit;
  }

  /** A new reliable tuple, to be emitted. */
  add(stream: string, values: object, options: SpoutEmitOptions<unknown>): PendingTuple {
    const emittedAt = this.sampler.due() ? this.ctx.now() : undefined;
    const tuple = newPendingTuple(stream, values, options, emittedAt, ++this.run.serial);
    tuple.context = captureSenderContext(this.run.kernel);
    this.tuples.pending.add(tuple);
    return tuple;
  }

  /**
   * Emits a tuple, or puts it in line while too many are in flight. Returns what to do when
   * the emit threw.
   */
  emit(tuple: PendingTuple): Decision | undefined {
    if (this.unplanted.length > 0) {
      this.wait(tuple);
      return undefined;
    }
    if (this.tuples.inFlight >= this.limit) {
      this.line.push(tuple);
      return undefined;
    }
    try {
      const { context } = tuple;
      const emitted =
        context === undefined ? this.emitTree(tuple) : context.runInAsyncScope(this.emitTree, this, tuple);
      if (emitted) tuple.onTasks = undefined;
      else this.wait(tuple);
      return undefined;
    } catch (error) {
      return this.threw(tuple, error);
    }
  }

  private wait(tuple: PendingTuple): void {
    this.unplanted.push(tuple);
    this.incarnation.retrying++;
  }

  /** An acker may run again: emits those that waited for one. Returns what to do about those whose emit threw. */
  emitWaiting(): readonly Decision[] {
    if (this.unplanted.length === 0) return NONE;
    const waited = this.unplanted.splice(0);
    this.incarnation.retrying -= waited.length;
    const decisions: Decision[] = [];
    for (const tuple of waited) {
      const decision = tuple.settled ? undefined : this.emit(tuple);
      if (decision !== undefined) decisions.push(decision);
    }
    return decisions;
  }

  /** The first in line, when another may be in flight. */
  next(): PendingTuple | undefined {
    if (this.tuples.inFlight >= this.limit) return undefined;
    const next = this.line.shift();
    return next === EMPTY ? undefined : (next as PendingTuple);
  }

  /** Undefined when the tree is none of this process, or has ended before. */
  treeEnded({ outcome, hi, lo }: TreeEnd): Decision | undefined {
    const { trees } = this.tuples;
    const decision = outcome === COMPLETED ? trees.done(hi, lo) : trees.failed(hi, lo, CAUSES[outcome]);
    if (decision === undefined) return undefined;
    if (outcome === COMPLETED) this.admission?.done(decision.pending.born, this.run.expiry.beats);
    else if (outcome === EXPIRED) this.expired(decision.pending);
    return decision;
  }

  /** A monitored process has ended. If it was an acker, all trees that it tracked have failed. */
  ackerEnded(ref: Monitor): readonly Decision[] {
    const acker = [...this.ackers].find(([, one]) => one === ref)?.[0];
    if (acker === undefined) return [];
    this.ackers.delete(acker);
    return this.tuples.trees.ackerGone(acker);
  }

  /**
   * The tuples that the process before this one left unsettled, to be emitted again. None without retries: then it is up to
   * the source to bring them again. None before the bolts are active.
   */
  takeOver(): readonly PendingTuple[] {
    if (this.tookOver || !this.run.switches.running) return [];
    this.tookOver = true;
    const left = [...this.tuples.pending];
    if (this.config.retries === 0) {
      for (const tuple of left) this.tuples.forget(tuple);
      this.run.settlements.notify();
      return [];
    }
    for (const tuple of left) {
      this.tuples.trees.inherit(tuple);
      tuple.onTasks = undefined;
    }
    return left;
  }

  /** The task ends for good: all that is not settled has failed. */
  abandon(): readonly Decision[] {
    return [...this.tuples.pending].map((pending) => ({
      type: "failed",
      pending,
      failure: { type: "stopped", attempts: pending.attempts, deadLettered: false },
    }));
  }

  /** False, and nothing is done, when no acker runs. */
  private emitTree(tuple: PendingTuple): boolean {
    const isLetter = tuple.deadBecause !== undefined;
    const out = this.outlet.stream(isLetter ? "dead" : tuple.stream);
    const values = isLetter ? letterOf(tuple) : tuple.values;
    const options = isLetter ? undefined : emitOptionsOf(tuple);
    const tree = this.outlet.plant(out, values, options);
    if (tree === undefined) return false;
    this.track(tuple, tree);
    this.outlet.emitTree(out, values, tree, options);
    return true;
  }

  private track(tuple: PendingTuple, { hi, lo, acker }: NewTree): void {
    if (!this.ackers.has(acker)) this.ackers.set(acker, this.ctx.monitor(acker.pid as never));
    tuple.born = this.run.expiry.beats;
    this.tuples.trees.emitted(tuple, hi, lo, acker);
    invariant(this.tuples.inFlight <= this.config.maxPending, "at most `maxPending` trees are in flight");
  }

  /** A grouping threw: this try of the tuple has failed. Or `onTasks` threw, and the tuple is in flight all the same. */
  private threw(tuple: PendingTuple, error: unknown): Decision | undefined {
    if (!this.incarnation.alive) throw error;
    const { component, task, meter } = this.slot;
    meter.errors++;
    this.run.log("error", component.name, task, () => `could not emit on ${tuple.stream}: ${textOf(error)}`);
    tuple.onTasks = undefined;
    return tuple.inFlight ? undefined : this.tuples.trees.emitFailed(tuple);
  }

  /** Trees of this task that keep every task of the largest bolt downstream busy. */
  private get least(): number {
    const { slots, backpressure } = this.slot.component;
    const atOnce = backpressure.reaches.map(
      ({ to: { component } }) => component.slots.length * component.concurrency,
    );
    return Math.ceil(Math.max(1, ...atOnce) / slots.length);
  }

  /** A tree was not done in time. When the bolts cannot keep up, fewer tuples may be in flight. */
  private expired(tuple: PendingTuple): void {
    const { run, config } = this;
    const congestion = this.admission?.lost(tuple.born, run.expiry.beats, this.tuples.inFlight, this.least);
    if (congestion === undefined) return;
    const { component, task } = this.slot;
    const now = this.ctx.now();
    if (now < component.quietUntil) return;
    component.quietUntil = now + CONGESTION_LOG_MS;
    const { acked, limit } = congestion;
    const { name, queued } = run.registry.busiest;
    run.log(
      "warn",
      component.name,
      task,
      `congested: tuples expired, and ${acked} were acked in the last ${run.blueprint.config.messageTimeoutMs} ms; ` +
        `of ${config.maxPending} tuples, ${limit} may be in flight until this gets better; ` +
        `most wait in front of ${name} (${queued})`,
    );
  }
}

function emitOptionsOf({ task, onTasks }: PendingTuple): EmitOptions | undefined {
  if (task === undefined && onTasks === undefined) return undefined;
  return { ...(task !== undefined && { task }), ...(onTasks !== undefined && { onTasks }) };
}
