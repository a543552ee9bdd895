// The reliable tuples of a spout's task on their way: emitted as trees, at most so many at a time, tried again after a
// wait, and sent to the stream `dead` at their end. What `pending.ts` decides is carried out here.

import { backoffMs } from "../../process/backoff.js";
import type { Context } from "../../process/context.js";
import { TaskEntry } from "../../process/entries.js";
import { EMPTY, Mailbox } from "../../process/mailbox.js";
import type { Monitor } from "../../process/monitor.js";
import type { Process } from "../../process/process.js";
import { captureSenderContext } from "../../process/sender-context.js";
import type { EmitOptions, Failure, SpoutEmitOptions } from "../definition/component.js";
import type { FullComponentConfig } from "../definition/config.js";
import { isPrompt } from "../definition/downstream.js";
import { textOf } from "../definition/errors.js";
import { touched } from "../runtime/lineage.js";
import type { Outlet } from "../runtime/outlet.js";
import type { Run } from "../runtime/run.js";
import type { Life } from "../runtime/slot.js";
import { COMPLETED, EXPIRED, FAILED, REFUSED, RETURNED, type TreeEnd } from "../tracking/acker-machine.js";
import { Admission } from "../tracking/admission.js";
import { letterOf, newPendingTuple, type PendingTuple } from "../tracking/pending-tuple.js";
import { type Decision, Retries } from "../tracking/retries.js";
import { inTurn, Sampler, whenDone } from "./task.js";

const CAUSES = {
  [FAILED]: "failed",
  [REFUSED]: "failed",
  [EXPIRED]: "expired",
  [RETURNED]: "returned",
} as const;

/** A component says that it is congested at most once in this time. */
const CONGESTION_LOG_MS = 30_000;

/** Is told how a tuple ended; without a failure it was acked. */
export type Told = (kept: PendingTuple, failure: Failure | undefined) => unknown;

export class InFlightTuples {
  private readonly run: Run;
  private readonly life: Life;
  private readonly ctx: Context<never>;
  private readonly outlet: Outlet;
  private readonly config: FullComponentConfig;
  private readonly tell: Told;
  /** What to do when something was settled outside of a message. */
  private readonly settled: () => unknown;
  private readonly pending: Retries;
  private readonly sampler: Sampler;
  /** Outlives this process. */
  private readonly kept: Set<PendingTuple>;
  /** Tuples that wait until there is room: emitted in one go with others, or to be tried again. */
  private readonly line = new Mailbox();
  /** The ackers that trees are with, and the monitors that tell of their ends. */
  private readonly ackers = new Map<Process, Monitor>();
  private tookOver = false;
  private readonly admission: Admission | undefined;

  constructor(run: Run, life: Life, ctx: Context<never>, outlet: Outlet, tell: Told, settled: () => unknown) {
    const { plan } = life.slot.component;
    const letters = run.blueprint.subscriptions.some(
      ({ from, stream }) => from === plan.name && stream === "dead",
    );
    this.run = run;
    this.life = life;
    this.ctx = ctx;
    this.outlet = outlet;
    this.config = plan.config;
    this.tell = tell;
    this.settled = settled;
    const { slot } = life;
    slot.roots?.leave();
    this.pending = new Retries(plan.config.retries, letters, slot.former);
    slot.roots = this.pending;
    touched(run, slot, "write");
    this.sampler = new Sampler(plan.config.sampleRate, ctx);
    this.kept = life.slot.kept;
    this.admission = isPrompt(plan.name, run.blueprint) ? new Admission(plan.config.maxPending) : undefined;
  }

  /** Trees that may be out at a time: `maxPending`, or less while bolts cannot finish as many before they expire. */
  get limit(): number {
    return this.admission === undefined ? this.config.maxPending : this.admission.limit;
  }

  /** A new reliable tuple. */
  add(stream: string, values: object, options: SpoutEmitOptions<unknown>): void {
    const at = this.sampler.due() ? this.ctx.now() : undefined;
    const kept = newPendingTuple(stream, values, options, at, ++this.run.serial);
    kept.context = captureSenderContext(this.run.kernel);
    this.kept.add(kept);
    this.send(kept);
  }

  treeEnded({ outcome, hi, lo }: TreeEnd): unknown {
    touched(this.run, this.life.slot, "write");
    const decision =
      outcome === COMPLETED ? this.pending.done(hi, lo) : this.pending.failed(hi, lo, CAUSES[outcome]);
    if (decision === undefined) return undefined;
    if (outcome === COMPLETED) this.admission?.done(decision.kept.born, this.run.expiry.beats);
    else if (outcome === EXPIRED) this.expired(decision.kept);
    return this.carry(decision);
  }

  /** A process has ended: if it was an acker, all that it kept account of has failed. */
  hearDown(ref: Monitor): unknown {
    const gone = [...this.ackers].find(([, one]) => one === ref)?.[0];
    if (gone === undefined) return undefined;
    this.ackers.delete(gone);
    touched(this.run, this.life.slot, "write");
    return inTurn(this.pending.ackerGone(gone), (decision) =>
      // While one is awaited, the task may be killed: what is left is the next one's.
      this.life.alive ? this.carry(decision) : undefined,
    );
  }

  /** Room has come: those that wait in line go on. */
  sendNext(): void {
    while (this.pending.flying < this.limit) {
      const next = this.line.shift();
      if (next === EMPTY) return;
      this.fly(next as PendingTuple);
    }
  }

  /**
   * What the life before this one left unsettled: tried again here, or, without retries, the source's own affair. Not
   * before bolts are active.
   */
  takeOver(): void {
    if (this.tookOver || !this.run.is.running) return;
    this.tookOver = true;
    const left = [...this.kept];
    if (this.config.retries === 0) {
      for (const kept of left) this.end(kept);
      this.run.settlements.notify();
      return;
    }
    for (const kept of left) {
      this.pending.inherit(kept);
      kept.onTasks = undefined;
      this.send(kept);
    }
  }

  /** The end of the topology: all that is left has failed. */
  giveUp(): unknown {
    return inTurn([...this.kept], (kept) =>
      this.over(kept, { type: "stopped", attempts: kept.attempts, deadLettered: false }),
    );
  }

  /** No more than `maxPending` are out at a time: the ackers have room for no more. The others wait in line. */
  private send(kept: PendingTuple): void {
    if (this.pending.flying < this.limit) this.fly(kept);
    else this.line.push(kept);
  }

  private fly(kept: PendingTuple): void {
    let flies: boolean;
    try {
      const { context } = kept;
      flies = context === undefined ? this.emit(kept) : context.runInAsyncScope(this.emit, this, kept);
    } catch (error) {
      this.threw(kept, error);
      return;
    }
    if (flies) kept.onTasks = undefined;
    // Its acker is being restarted: that is soon.
    else this.later(kept, kept.setbacks + 1);
  }

  private emit(kept: PendingTuple): boolean {
    const isLetter = kept.dying !== undefined;
    const { task, onTasks } = kept;
    const options: EmitOptions | undefined =
      isLetter || (task === undefined && onTasks === undefined)
        ? undefined
        : { ...(task !== undefined && { task }), ...(onTasks !== undefined && { onTasks }) };
    return this.outlet.emitTree(
      this.outlet.stream(isLetter ? "dead" : kept.stream),
      isLetter ? letterOf(kept) : kept.values,
      this.life,
      options,
      (hi, lo, acker) => {
        if (!this.ackers.has(acker)) this.ackers.set(acker, this.ctx.monitor(acker.pid as never));
        kept.born = this.run.expiry.beats;
        touched(this.run, this.life.slot, "write");
        this.pending.fly(kept, hi, lo, acker);
      },
    );
  }

  /** A grouping threw: the tuple has failed this try. Or `onTasks` did, and it is on its way all the same. */
  private threw(kept: PendingTuple, error: unknown): void {
    if (!this.life.alive) throw error;
    const { component, task, meter } = this.life.slot;
    meter.errors++;
    this.run.log("error", component.name, task, () => `could not emit on ${kept.stream}: ${textOf(error)}`);
    kept.onTasks = undefined;
    if (kept.flying) return;
    const decision = this.pending.threw(kept);
    // Not within `next`, which may be what emitted it.
    this.life.process.deliverSignal(new TaskEntry(() => whenDone(this.carry(decision), this.settled)));
  }

  private later(kept: PendingTuple, attempt: number): void {
    const waitMs = backoffMs(this.config.retryBackoff, attempt, this.ctx.random());
    this.life.retrying++;
    this.ctx.runAfter(waitMs, () => {
      this.life.retrying--;
      if (this.kept.has(kept)) this.send(kept);
      else this.run.settlements.notify();
    });
  }

  private carry(decision: Decision): unknown {
    const { kept } = decision;
    switch (decision.type) {
      case "acked":
        return this.over(kept, undefined);
      case "retry":
        this.later(kept, decision.attempt);
        return undefined;
      case "letter":
        if (decision.attempt === 0) this.send(kept);
        else this.later(kept, decision.attempt);
        return undefined;
      case "failed":
        return this.over(kept, decision.failure);
      default:
        return decision satisfies never;
    }
  }

  /** Trees of this task that keep every task of the largest bolt downstream at work. */
  private get least(): number {
    const { slots, outflows } = this.life.slot.component;
    const atOnce = outflows.map(({ to }) => to.slots.length * to.concurrency);
    return Math.ceil(Math.max(1, ...atOnce) / slots.length);
  }

  /** Its tree was not done in time: when the bolts cannot keep up, less is let in. */
  private expired(kept: PendingTuple): void {
    const { run, config } = this;
    const congestion = this.admission?.lost(kept.born, run.expiry.beats, this.pending.flying, this.least);
    if (congestion === undefined) return;
    const { component, task } = this.life.slot;
    const now = this.ctx.now();
    if (now < component.quietUntil) return;
    component.quietUntil = now + CONGESTION_LOG_MS;
    const { acked, limit } = congestion;
    const { name, waiting } = run.busiest;
    run.log(
      "warn",
      component.name,
      task,
      `congested: tuples expired, and ${acked} were acked in the last ${run.blueprint.config.messageTimeoutMs} ms; ` +
        `of ${config.maxPending} tuples, ${limit} may be under way until this gets better; ` +
        `most wait in front of ${name} (${waiting})`,
    );
  }

  private over(kept: PendingTuple, failure: Failure | undefined): unknown {
    this.end(kept);
    const { context } = kept;
    if (context === undefined) return this.tell(kept, failure);
    return context.runInAsyncScope(this.tell, undefined, kept, failure);
  }

  private end(kept: PendingTuple): void {
    this.kept.delete(kept);
    kept.over = true;
    touched(this.run, this.life.slot, "write");
    this.life.slot.former.forget(kept);
  }
}
