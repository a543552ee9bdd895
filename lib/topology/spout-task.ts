// The process of a spout's task: it asks the spout for tuples while there is room, keeps the reliable ones until they are
// settled, and tries those again that fail.

import { backoffMs } from "../process/backoff.js";
import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import { EMPTY, Mailbox } from "../process/mailbox.js";
import type { Monitor } from "../process/monitor.js";
import { isThenable, type Process } from "../process/process.js";
import type { TimerRef } from "../process/timer.js";
import type {
  EmitOptions,
  Failure,
  SpoutContext,
  SpoutDefinition,
  SpoutEmitOptions,
  SpoutOptions,
} from "./component.js";
import type { FullComponentConfig } from "./config.js";
import type { Streams } from "./field.js";
import { DONE, EXPIRED, FAILED, type Order, RETURNED, Verdict } from "./messages.js";
import { Outlet, type OutStream } from "./outlet.js";
import { type Decision, type Kept, Pending } from "./pending.js";
import type { Run } from "./run.js";
import type { Life, Slot } from "./slot.js";
import { after, initContext, inTurn, processOf, refuseDead, Sampler, starting } from "./task.js";

export type SpoutMessage = Verdict | Order;

/** Calls of `next` in one activation: more, and the others have their turn first. */
const MOST_CALLS = 64;

const CAUSES = { [FAILED]: "failed", [EXPIRED]: "expired", [RETURNED]: "returned" } as const;

const NO_OPTIONS: SpoutEmitOptions<unknown> = {};

/** The behaviour of a task of the spout in this slot. */
export function spoutTask(run: Run, slot: Slot): Callbacks<SpoutMessage> {
  let task: SpoutTask;
  return {
    init: (ctx) => {
      task = new SpoutTask(run, slot, ctx as Context<never>);
      return starting(run, () => task.start());
    },
    handle: (_ctx, message) => (message instanceof Verdict ? task.hearVerdict(message) : task.obey(message)),
    signal: (_ctx, signal) => task.hear(signal),
    terminate: (_ctx, reason) => (reason.type === "crash" ? undefined : task.end()),
  };
}

class SpoutTask {
  private readonly run: Run;
  private readonly slot: Slot;
  private readonly ctx: Context<never>;
  private readonly process: Process;
  private readonly config: FullComponentConfig;
  private readonly options: SpoutOptions<Streams, unknown, unknown>;
  private readonly pending: Pending;
  private readonly kept: Set<Kept>;
  private readonly sampler: Sampler;
  /** Tuples that wait until there is room: emitted in one go with others, or to be tried again. */
  private readonly line = new Mailbox();
  /** The ackers that trees are with, and the monitors that tell of their ends. */
  private readonly ackers = new Map<Process, Monitor>();
  private life!: Life;
  private outlet!: Outlet;
  private dead!: OutStream;
  private own!: SpoutContext<Streams, unknown>;
  private active = false;
  private started = false;
  private tookOver = false;
  /** Tuples emitted so far: how a call of `next` that emitted nothing is known. */
  private emitted = 0;
  private idle: TimerRef | undefined = undefined;
  private going = false;

  constructor(run: Run, slot: Slot, ctx: Context<never>) {
    const { plan } = slot.component;
    this.run = run;
    this.slot = slot;
    this.ctx = ctx;
    this.process = processOf(ctx);
    this.config = plan.config;
    this.options = (plan.definition as SpoutDefinition).options;
    this.sampler = new Sampler(plan.config.sampleRate);
    const letters = run.blueprint.wires.some(({ from, stream }) => from === plan.name && stream === "dead");
    this.pending = new Pending(plan.config.retries, letters);
    this.kept = slot.kept;
  }

  start(): unknown {
    const { run, slot, ctx, options } = this;
    const known = initContext(run, slot, ctx);
    return after(options.init?.(known), (state) => {
      if (!ctx.alive) return undefined;
      this.life = run.enter(slot, this.process);
      this.outlet = new Outlet(run, this.life);
      this.dead = this.outlet.stream("dead");
      this.own = { ...known, state, emit: this.emitters(), wake: () => this.go(), done: () => this.finish() };
      this.started = true;
      this.takeOver();
      return run.is.flowing ? this.obey("activate") : undefined;
    });
  }

  hearVerdict({ kind, hi, lo }: Verdict): unknown {
    const decision = kind === DONE ? this.pending.done(hi, lo) : this.pending.failed(hi, lo, CAUSES[kind]);
    if (decision === undefined) return undefined;
    return this.thenPump(this.carry(decision));
  }

  obey(order: Order): unknown {
    switch (order) {
      case "activate":
        this.takeOver();
        if (this.active) return undefined;
        this.active = true;
        this.life.active = true;
        return this.thenPump(this.options.activate?.(this.own));
      case "deactivate":
        return this.deactivate();
      case "go":
        this.going = false;
        this.takeOver();
        return this.pump();
      case "tick":
      case "flush":
        return undefined;
      default:
        return order satisfies never;
    }
  }

  hear(signal: Signal): unknown {
    if (signal.type === "down") {
      const gone = [...this.ackers].find(([, ref]) => ref === signal.ref)?.[0];
      if (gone === undefined) return undefined;
      this.ackers.delete(gone);
      return this.thenPump(
        inTurn(this.pending.ackerGone(gone), (decision) =>
          // While one is awaited, the task may be killed: what is left is the next one's.
          this.process.alive ? this.carry(decision) : undefined,
        ),
      );
    }
    const ended: Stop | undefined =
      signal.type === "exit" && signal.reason.type !== "normal" ? stop(signal.reason) : undefined;
    return ended;
  }

  /** An orderly end. When the topology ends for good, what is not settled has failed. */
  end(): unknown {
    if (!this.started) return undefined;
    const ending = this.run.is.ending || this.slot.retired;
    const left = ending ? [...this.kept] : [];
    const told = inTurn(left, (kept) =>
      this.settle(kept, { type: "stopped", attempts: kept.attempts, deadLettered: false }),
    );
    return after(
      after(told, () => this.deactivate()),
      () => this.options.close?.(this.own, ending),
    );
  }

  // ── asking for tuples ─────────────────────────────────────────────────────────────────────────────────────────

  /** Whether the spout may be asked for more. */
  private get hasRoom(): boolean {
    const { run, slot } = this;
    if (
      !this.active ||
      this.life.asking ||
      slot.retired ||
      slot.done ||
      this.kept.size >= this.config.maxPending
    )
      return false;
    run.kernel.interception?.touched(`t:${run.name}/${slot.component.name}`, "read");
    return run.is.flowing && !slot.component.isBlocked;
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

  /** Verdicts are heard while an asynchronous `next` is under way; it is not called again before that is done. */
  private await(result: PromiseLike<unknown>, before: number): void {
    this.life.asking = true;
    result.then(
      () => {
        this.life.asking = false;
        if (!this.process.alive) return;
        if (this.emitted === before && this.active) this.wait();
        else this.go();
        this.run.rest();
      },
      (error) => {
        this.life.asking = false;
        this.process.failed(error, undefined);
      },
    );
  }

  private wait(): void {
    if (this.going || this.slot.done || this.idle !== undefined) return;
    this.idle = this.ctx.after(this.config.spoutWait, () => {
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
    this.run.rest();
  }

  /** Asks in a turn of its own. */
  private go(): void {
    if (this.going || !this.process.alive) return;
    this.going = true;
    this.process.deliver("go");
  }

  private thenPump(result: unknown): unknown {
    return after(result, () => {
      this.sendNext();
      this.run.rest();
      return this.pump();
    });
  }

  // ── emitting ──────────────────────────────────────────────────────────────────────────────────────────────────

  private emitters(): SpoutContext<Streams, unknown>["emit"] {
    const emit: Record<string, (values: object, options?: SpoutEmitOptions<unknown>) => void> =
      Object.create(null);
    for (const name of Object.keys(this.slot.component.plan.streams)) {
      const out = this.outlet.stream(name);
      emit[name] = (values, options = NO_OPTIONS) => {
        refuseDead(this.process);
        this.emitted++;
        if (options.id === undefined) this.outlet.emitLoose(out, values, options);
        else this.emitReliable(name, values, options);
      };
    }
    return emit;
  }

  private emitReliable(stream: string, values: object, options: SpoutEmitOptions<unknown>): void {
    const kept: Kept = {
      id: options.id,
      stream,
      values,
      task: options.task,
      attempts: 0,
      setbacks: 0,
      emittedAt: this.sampler.due() ? this.ctx.now() : undefined,
      dying: undefined,
      letters: 0,
      flying: false,
      onTasks: options.onTasks,
    };
    this.kept.add(kept);
    try {
      this.send(kept);
    } catch (error) {
      this.kept.delete(kept);
      throw error;
    }
  }

  /** No more than `maxPending` are out at a time: the ackers have room for no more. The others wait in line. */
  private send(kept: Kept): void {
    if (this.pending.flying < this.config.maxPending) this.fly(kept);
    else this.line.push(kept);
  }

  private sendNext(): void {
    while (this.pending.flying < this.config.maxPending) {
      const next = this.line.shift();
      if (next === EMPTY) return;
      this.fly(next as Kept);
    }
  }

  private fly(kept: Kept): void {
    const isLetter = kept.dying !== undefined;
    const { task, onTasks } = kept;
    const options: EmitOptions | undefined =
      isLetter || (task === undefined && onTasks === undefined)
        ? undefined
        : { ...(task !== undefined && { task }), ...(onTasks !== undefined && { onTasks }) };
    const flies = this.outlet.emitTree(
      isLetter ? this.dead : this.outlet.stream(kept.stream),
      isLetter ? letterOf(kept) : kept.values,
      this.life,
      options,
      (hi, lo, acker) => {
        if (!this.ackers.has(acker)) this.ackers.set(acker, this.ctx.monitor(acker.pid as never));
        this.pending.fly(kept, hi, lo, acker);
      },
    );
    if (flies) kept.onTasks = undefined;
    // Its acker is being restarted: that is soon.
    else this.later(kept, kept.setbacks + 1);
  }

  private later(kept: Kept, attempt: number): void {
    const waitMs = backoffMs(this.config.retryBackoff, attempt, this.ctx.random());
    this.ctx.after(waitMs, () => {
      if (this.kept.has(kept)) this.send(kept);
    });
  }

  /**
   * What the life before this one left unsettled: tried again here, or, without retries, the source's own affair. Not
   * before bolts are active.
   */
  private takeOver(): void {
    if (this.tookOver || !this.run.is.running) return;
    this.tookOver = true;
    const left = [...this.kept];
    if (this.config.retries === 0) {
      this.kept.clear();
      this.run.rest();
      return;
    }
    for (const kept of left) {
      this.pending.inherit(kept);
      kept.onTasks = undefined;
      this.send(kept);
    }
  }

  // ── settling ──────────────────────────────────────────────────────────────────────────────────────────────────

  private carry(decision: Decision): unknown {
    const { kept } = decision;
    switch (decision.type) {
      case "acked":
        return this.acked(kept);
      case "retry":
        this.later(kept, decision.attempt);
        return undefined;
      case "letter":
        if (decision.attempt === 0) this.send(kept);
        else this.later(kept, decision.attempt);
        return undefined;
      case "failed":
        return this.settle(kept, decision.failure);
      default:
        return decision satisfies never;
    }
  }

  private acked(kept: Kept): unknown {
    this.kept.delete(kept);
    const { meter } = this.outlet.stream(kept.stream);
    meter.acked++;
    if (kept.emittedAt !== undefined) {
      const now = this.ctx.now();
      meter.latency.record(now - kept.emittedAt, now);
    }
    return this.options.ack?.(kept.id, this.own);
  }

  private settle(kept: Kept, failure: Failure): unknown {
    this.kept.delete(kept);
    const { meter } = this.outlet.stream(kept.stream);
    if (failure.type === "expired") meter.expired++;
    else meter.failed++;
    this.slot.meter.dead++;
    if (!failure.deadLettered) this.publishDead(kept);
    return this.options.fail?.(kept.id, this.own, failure);
  }

  private publishDead({ id, stream, values, attempts }: Kept): void {
    const { name, kernel } = this.run;
    if (!kernel.events.wants.deadTuple) return;
    const component = this.slot.component.name;
    kernel.events.publish("deadTuple", { topology: name, component, stream, id, values, attempts });
  }

  private deactivate(): unknown {
    if (!this.active) return undefined;
    this.active = false;
    this.cancelIdle();
    return after(this.options.deactivate?.(this.own), () => {
      this.life.active = false;
      this.run.rest();
    });
  }
}

/** Values of the stream `dead`. */
function letterOf({ id, stream, values, attempts, dying }: Kept): object {
  return { id, stream, values, attempts, reason: dying };
}
