// One task of a bolt with windows: it takes the time of each tuple, hands over the windows that are due, and settles their
// tuples. The window machine decides which windows are due; the trace of a retried tuple decides whether it counts again.

import { type Backoff, backoffMs } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { BoltContext, InitContext } from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { AnyValues, Streams } from "../definition/field.js";
import { ACKED, type Tuple } from "../definition/tuple.js";
import { Lineage } from "../runtime/lineage.js";
import { type PendingTuple, traceOf } from "../tracking/pending-tuple.js";
import { give, type HoldingContext, whileAlive } from "./holding.js";
import { CountWindows } from "./window-count.js";
import { WindowLog } from "./window-log.js";
import type { WindowMachine, WindowView } from "./window-machine.js";
import type { WindowPlan } from "./window-plan.js";
import { TimeWindows } from "./window-time.js";

type Given = BoltContext<Streams, unknown>;
type Ctx = HoldingContext<WindowTask>;

/** The common options of the tasks of a bolt. */
export interface WindowRules {
  readonly plan: WindowPlan<AnyValues>;
  readonly maxHeld: number;
  readonly retries: number;
  readonly retryBackoff: Backoff;
  /** A stream or a function for late tuples. */
  readonly late: string | ((tuple: Tuple, ctx: Given) => unknown) | undefined;
  readonly streams: readonly string[];
  readonly execute: (window: WindowView<Tuple>, ctx: Given) => unknown;
}

/** Period of checks whether lost tuples are still outstanding. */
const LOOK_MS = 100;
/** The last millisecond of a Date. Far enough below the largest safe integer for the sums of windows. */
const LAST_MS = 8.64e15;

export class WindowTask {
  private readonly rules: WindowRules;
  private readonly by: ((values: AnyValues) => number) | undefined;
  private readonly machine: WindowMachine<Tuple>;
  /** The same machine, for windows of time. */
  private readonly times: TimeWindows<Tuple> | undefined;
  /** For windows with `by`. */
  private readonly lineage: Lineage | undefined;
  /** The spout tuple from which each tuple descends, where known. */
  private readonly origins = new WeakMap<Tuple, PendingTuple>();
  /** Held tuples that fail when they are released, because the emits of an earlier window with them were lost. */
  private readonly doomed = new Set<Tuple>();
  /** The current tuple, if an earlier try of it was lost here: there is always room for it. */
  private expected: Tuple | undefined = undefined;
  private late = 0;
  /** Tries of the window that is due, and the timer of its next try. */
  private tries = 0;
  private again: TimerRef | undefined = undefined;
  private look: TimerRef | undefined = undefined;
  private flushing = false;

  constructor(rules: WindowRules, ctx: InitContext) {
    const { plan, maxHeld } = rules;
    this.rules = rules;
    this.by = plan.kind === "time" ? plan.by : undefined;
    if (plan.kind === "time") {
      this.times = new TimeWindows<Tuple>({ ...plan, maxHeld, log: logOf(ctx, plan.everyMs) });
      this.machine = this.times;
    } else this.machine = new CountWindows<Tuple>(plan);
    this.lineage = this.by === undefined ? undefined : Lineage.of(ctx);
    this.lineage?.watch((tuple) => this.timeOf(tuple, ctx));
  }

  take(tuple: Tuple, ctx: Ctx): unknown {
    let time: number;
    try {
      time = this.timeOf(tuple, ctx);
    } catch (error) {
      ctx.fail(tuple);
      ctx.log("error", () => `a tuple has no time: ${textOf(error)}`);
      return undefined;
    }
    if (this.lineage !== undefined && tuple.anchored && this.isHereAlready(tuple, time, this.lineage, ctx))
      return undefined;
    const { plan } = this.rules;
    this.machine.tick(plan.kind === "time" ? time - plan.lagMs : time);
    // Windows may have waited for this tuple, and there is always room for it.
    if (tuple === this.expected) return this.add(tuple, time, ctx);
    // Windows that end before this tuple are handed over first, which may make room for the tuple.
    return whileAlive(ctx, this.handOverDue(ctx), () => this.add(tuple, time, ctx));
  }

  tick(ctx: Ctx): unknown {
    this.machine.tick(ctx.now());
    return this.handOverDue(ctx);
  }

  flush(ctx: Ctx): unknown {
    for (const timer of [this.again, this.look]) if (timer !== undefined) ctx.process.cancel(timer);
    this.again = undefined;
    this.look = undefined;
    // The flush lasts until all windows are handed over, even if a window is retried or waits for lost tuples.
    this.flushing = true;
    this.machine.flush();
    return this.handOverDue(ctx);
  }

  // ── a tuple ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws OptionError, and any error of `by` */
  private timeOf(tuple: Tuple, ctx: { now(): number }): number {
    return this.by === undefined ? ctx.now() : checkTime(this.by(tuple.values));
  }

  /** Whether the tuple is another try of a tuple that is held, or that was in all of its windows. */
  private isHereAlready(tuple: Tuple, time: number, lineage: Lineage, ctx: Ctx): boolean {
    const origin = lineage.originOf(tuple);
    if (origin === undefined) {
      // The spout knows the end of this try already, so nothing waits for the tuple.
      lineage.forget(tuple);
      return true;
    }
    this.origins.set(tuple, origin);
    const { trace } = origin;
    if (trace === undefined) return false;
    const isSame = (other: Tuple): boolean => this.origins.get(other) === origin;
    const windowed = trace.windowedAt(lineage.task, time);
    if (lineage.isStale(tuple)) {
      // A later try has overtaken this one, or this one keeps its place until a later try comes.
      const known = windowed?.done || this.times?.has(time, isSame);
      if (known) lineage.forget(tuple);
      return known === true;
    }
    const again = lineage.came(time, origin, tuple);
    const isBroken = windowed !== undefined && lineage.brokenBelow(origin);
    if (windowed?.done && !isBroken) {
      ctx.ack(tuple);
      return true;
    }
    if (isBroken && !windowed.done) this.doomed.add(tuple);
    const former = this.times?.replace(time, (other) => isSame(other) && lineage.isStale(other), tuple);
    if (former === undefined) {
      if (again) this.expected = tuple;
      return false;
    }
    this.doomed.delete(former);
    lineage.forget(former);
    return true;
  }

  private add(tuple: Tuple, time: number, ctx: Ctx): unknown {
    const added = this.machine.add(time, tuple, tuple === this.expected);
    if (added === "held") return this.handOverDue(ctx);
    this.doomed.delete(tuple);
    if (added === "late") return this.tooLate(tuple, ctx);
    ctx.fail(tuple);
    const { maxHeld } = this.rules;
    ctx.log("warn", () => `a tuple was failed: ${maxHeld} are held already, which is \`maxHeld\``);
    return undefined;
  }

  private tooLate(tuple: Tuple, ctx: Ctx): unknown {
    const { late, streams } = this.rules;
    const { lineage } = this;
    if (this.origins.has(tuple) && lineage?.isStale(tuple)) {
      lineage.forget(tuple);
      return undefined;
    }
    this.countLate();
    if (late === undefined) {
      this.failForGood(tuple, ctx);
      return undefined;
    }
    const run = (given: Given): unknown =>
      typeof late === "string" ? given.emit[late]?.(tuple.values as never) : late(tuple, given);
    return give(ctx, streams, [tuple], run, () => [tuple]);
  }

  private countLate(): void {
    this.late++;
    if (this.lineage !== undefined) this.lineage.meter.late++;
  }

  /** Fails a tuple without retries: they would not help, since its windows are over. */
  private failForGood(tuple: Tuple, ctx: Ctx): void {
    const origin = this.origins.get(tuple);
    if (origin !== undefined) traceOf(origin).hopeless = true;
    ctx.fail(tuple);
    const before = this.late - 1;
    ctx.log(
      "warn",
      () =>
        `failed a tuple of ${tuple.component}.${tuple.stream} for good: it is late, as ${before} were before; \`late\` takes such tuples`,
    );
  }

  // ── a window ──────────────────────────────────────────────────────────────────────────────────────────────────

  private handOverDue(ctx: Ctx): unknown {
    // A window waits for its next try, and later windows wait behind it.
    if (this.again !== undefined) return undefined;
    const { machine } = this;
    for (let window = machine.next(this.limit); window !== undefined; window = machine.next(this.limit)) {
      const result = this.handOver(window, ctx);
      if (result !== undefined) return whileAlive(ctx, result, () => this.handOverDue(ctx));
      if (this.again !== undefined) return undefined;
    }
    if (this.limit < Number.POSITIVE_INFINITY)
      this.look ??= ctx.process.runAfter(LOOK_MS, () => {
        this.look = undefined;
        return this.handOverDue(ctx);
      });
    else if (this.flushing) {
      this.flushing = false;
      for (const tuple of machine.clear()) ctx.ack(tuple);
    }
    return undefined;
  }

  /** Windows that end after this time wait for lost tuples that will be retried. */
  private get limit(): number {
    return this.lineage?.outstanding ?? Number.POSITIVE_INFINITY;
  }

  private handOver(window: WindowView<Tuple>, ctx: Ctx): unknown {
    const { execute, streams } = this.rules;
    return give(
      ctx,
      streams,
      window.tuples,
      (given) => execute(window, given),
      (done, settled) => (done ? this.done(window, settled, ctx) : this.threw(settled, ctx)),
    );
  }

  /** Returns the tuples to ack. */
  private done(window: WindowView<Tuple>, settled: ReadonlySet<Tuple>, ctx: Ctx): readonly Tuple[] {
    this.tries = 0;
    const released = this.machine.done(settled);
    const { lineage } = this;
    if (lineage === undefined) return released;
    const note = (tuple: Tuple, isLast: boolean): void => {
      const origin = this.origins.get(tuple);
      if (origin === undefined) return;
      const time = this.timeOf(tuple, ctx);
      traceOf(origin).handedOver(lineage.task, time);
      if (isLast) traceOf(origin).wasLast(lineage.task, time);
    };
    for (const tuple of window.added) if (!settled.has(tuple)) note(tuple, false);
    for (const tuple of released) note(tuple, true);
    for (const tuple of settled) if (tuple.state === ACKED) note(tuple, true);
    if (this.doomed.size === 0) return released;
    return released.filter((tuple) => {
      if (!this.doomed.delete(tuple)) return true;
      this.countLate();
      this.failForGood(tuple, ctx);
      return false;
    });
  }

  /** Returns the tuples to fail: none when the window is retried. */
  private threw(settled: ReadonlySet<Tuple>, ctx: Ctx): readonly Tuple[] {
    const { retries, retryBackoff } = this.rules;
    if (this.tries < retries) {
      this.tries++;
      this.machine.again(settled);
      this.again = ctx.process.runAfter(backoffMs(retryBackoff, this.tries, ctx.random()), () => {
        this.again = undefined;
        return this.handOverDue(ctx);
      });
      return [];
    }
    this.tries = 0;
    const failed = this.machine.failed();
    for (const tuple of failed) if (!settled.has(tuple)) this.lineage?.lost(tuple);
    return failed;
  }
}

/** The log of this task, which survives restarts. */
function logOf(ctx: InitContext, every: number): WindowLog {
  const logs = (ctx.shared.get(WindowLog) ?? new Map()) as Map<number, WindowLog>;
  ctx.shared.set(WindowLog, logs);
  const log = logs.get(ctx.index) ?? new WindowLog(every);
  logs.set(ctx.index, log);
  return log;
}

/** @throws OptionError */
function checkTime(time: unknown): number {
  if (typeof time === "number" && Math.abs(time) <= LAST_MS) return time;
  throw new OptionError("what `by` returns", time, "a number of milliseconds that a Date could have");
}
