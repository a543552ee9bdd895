// One task of a bolt with windows: it takes the time of each tuple, hands over the windows that are due, and settles their
// tuples. The window machine decides which windows are due; the trace of a retried tuple decides whether it counts again.

import { type Backoff, backoffMs } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import type { TimerRef } from "../../process/owned-timer.js";
import { isThenable } from "../../process/thenable.js";
import type { BoltContext, InitContext } from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { AnyValues, Streams } from "../definition/field.js";
import { ACKED, type Tuple } from "../definition/tuple.js";
import { Lineage } from "../runtime/lineage.js";
import { traceOf } from "../tracking/pending-tuple.js";
import { give, type HoldingContext, whileAlive } from "./holding.js";
import { ReturningTuples } from "./returning-tuples.js";
import { CountWindows } from "./window-count.js";
import type { WindowView } from "./window-held.js";
import { WindowLog } from "./window-log.js";
import { decide, type Effect, type Event, initial, type State } from "./window-machine.js";
import type { CountPlan, WindowPlan } from "./window-plan.js";
import { HandedOver } from "./window-result.js";
import { TimeWindows } from "./window-time.js";

type Given = BoltContext<Streams, unknown>;
type Ctx = HoldingContext<WindowTask>;

/** Settles the items of a window. `give` does so at the end of the window's `execute`. */
type Settling = Extract<Effect<Tuple>, { readonly type: "release" | "fail" }>;
type Queued = Exclude<Effect<Tuple>, Settling>;

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
  readonly #rules: WindowRules;
  readonly #by: ((values: AnyValues) => number) | undefined;
  #state: State<Tuple>;
  /** Effects that are not carried out yet. */
  readonly #effects: Queued[] = [];
  /** The table of the windows, if these are windows of time. */
  readonly #times: TimeWindows<Tuple> | undefined;
  readonly #log: WindowLog | undefined;
  /** For windows with `by`. */
  readonly #lineage: Lineage | undefined;
  /** For windows with `by` under another host, which has no lineage. */
  readonly #returning: ReturningTuples | undefined;
  /** Held tuples that fail when they are released, because the emits of an earlier window with them were lost. */
  readonly #doomed = new Set<Tuple>();
  /** The current tuple, if an earlier try of it was lost here: `maxHeld` does not count for it. */
  #expected: Tuple | undefined = undefined;
  #late = 0;
  #retryTimer: TimerRef | undefined = undefined;
  #lookTimer: TimerRef | undefined = undefined;

  constructor(rules: WindowRules, ctx: InitContext) {
    const { plan, maxHeld } = rules;
    this.#rules = rules;
    const by = plan.kind === "time" ? plan.by : undefined;
    this.#by = by;
    if (plan.kind === "time") {
      this.#log = logOf(ctx, plan.everyMs);
      this.#times = new TimeWindows<Tuple>({ ...plan, maxHeld, log: this.#log });
    }
    const table = this.#times ?? new CountWindows<Tuple>(plan as CountPlan);
    this.#state = initial(table, rules.retries);
    this.#lineage = by && Lineage.of(ctx);
    this.#lineage?.watch((tuple) => this.#timeOf(tuple, ctx));
    this.#returning = by && ReturningTuples.of(ctx, ({ values }) => by(values));
  }

  take(tuple: Tuple, ctx: Ctx): unknown {
    let time: number;
    try {
      time = this.#timeOf(tuple, ctx);
    } catch (error) {
      ctx.fail(tuple);
      ctx.log("error", () => `a tuple has no time: ${textOf(error)}`);
      return undefined;
    }
    if (this.#lineage !== undefined && tuple.anchored && this.#isHereAlready(tuple, time, this.#lineage, ctx))
      // Windows may have waited for this try.
      return this.#state.isLooking
        ? this.#dispatch({ type: "tick", now: Number.NEGATIVE_INFINITY }, ctx)
        : undefined;
    const { plan } = this.#rules;
    const now = plan.kind === "time" ? time - plan.lagMs : time;
    if (this.#returning?.came(tuple, ctx.now()) === true && this.#times?.isBehind(time) === true)
      return this.#gather(tuple, time, now, ctx);
    const arrival = { time, item: tuple, isExpected: tuple === this.#expected };
    return this.#dispatch({ type: "arrive", arrival, now }, ctx);
  }

  tick(ctx: Ctx): unknown {
    return this.#dispatch({ type: "tick", now: ctx.now() }, ctx);
  }

  flush(ctx: Ctx): unknown {
    return whileAlive(ctx, this.#returned(ctx), () => this.#dispatch({ type: "flush" }, ctx));
  }

  // ── the machine ───────────────────────────────────────────────────────────────────────────────────────────────

  #dispatch(event: Event<Tuple>, ctx: Ctx): unknown {
    this.#decide(event);
    return this.#carryOutAll(ctx);
  }

  /** Queues the effects of an event. Returns the one that settles the items of a window, if any. */
  #decide(event: Event<Tuple>): Settling | undefined {
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    let settling: Settling | undefined;
    for (const effect of effects)
      if (effect.type === "release" || effect.type === "fail") settling = effect;
      else this.#effects.push(effect);
    return settling;
  }

  /** The loop over the effects. It pauses while one of them is awaited, and the task takes no tuples then. */
  #carryOutAll(ctx: Ctx): unknown {
    for (let effect = this.#effects.shift(); effect !== undefined; effect = this.#effects.shift()) {
      const result = this.#carryOut(effect, ctx);
      if (isThenable(result)) return whileAlive(ctx, result, () => this.#carryOutAll(ctx));
    }
    return undefined;
  }

  #carryOut(effect: Queued, ctx: Ctx): unknown {
    switch (effect.type) {
      case "check-due":
        // Windows that end after what is outstanding wait for lost tuples that will be retried.
        this.#decide({ type: "due", limit: this.#lineage?.outstanding ?? Number.POSITIVE_INFINITY });
        return undefined;
      case "hand-over":
        return this.#handOver(effect.window, ctx);
      case "ack":
        for (const tuple of effect.items) ctx.ack(tuple);
        return undefined;
      case "late":
        this.#doomed.delete(effect.item);
        return this.#tooLate(effect.item, ctx);
      case "full":
        return this.#tooMany(effect.item, ctx);
      case "schedule-retry": {
        const waitMs = backoffMs(this.#rules.retryBackoff, effect.attempt, ctx.random());
        this.#retryTimer = ctx.process.runAfter(waitMs, () => this.#dispatch({ type: "retry" }, ctx));
        return undefined;
      }
      case "schedule-look":
        this.#lookTimer = ctx.process.runAfter(LOOK_MS, () => this.#dispatch({ type: "look" }, ctx));
        return undefined;
      case "cancel-timers":
        for (const timer of [this.#retryTimer, this.#lookTimer])
          if (timer !== undefined) ctx.process.cancel(timer);
        return undefined;
      default:
        return effect satisfies never;
    }
  }

  // ── a tuple ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws OptionError, and any error of `by` */
  #timeOf(tuple: Tuple, ctx: { now(): number }): number {
    return this.#by === undefined ? ctx.now() : checkTime(this.#by(tuple.values));
  }

  /** Whether the tuple is a try of one that is held, or that was in all of its windows. */
  #isHereAlready(tuple: Tuple, time: number, lineage: Lineage, ctx: Ctx): boolean {
    const place = lineage.placeOf(tuple);
    if (place === undefined || place.pending.settled) {
      // The spout knows the end of this try already, so nothing waits for the tuple.
      lineage.forget(tuple);
      return true;
    }
    const isSame = (other: Tuple): boolean => lineage.placeOf(other) === place;
    if (lineage.isStale(tuple)) {
      // A later try has overtaken this one, or this one keeps the place until a later try comes.
      if (!place.done && !this.#times?.has(time, isSame)) return false;
      lineage.forget(tuple);
      return true;
    }
    const again = lineage.back(place);
    const isUnsure = place.windowed && (place.isBroken || lineage.expiredBelow(place.pending));
    if (place.done && !isUnsure) {
      ctx.ack(tuple);
      return true;
    }
    if (isUnsure && !place.done) this.#doomed.add(tuple);
    const former = this.#times?.replace(time, (other) => isSame(other) && lineage.isStale(other), tuple);
    if (former === undefined) {
      if (again) this.#expected = tuple;
      return false;
    }
    this.#doomed.delete(former);
    lineage.forget(former);
    return true;
  }

  #tooMany(tuple: Tuple, ctx: Ctx): void {
    this.#doomed.delete(tuple);
    ctx.fail(tuple);
    const { maxHeld } = this.#rules;
    ctx.log("warn", () => `a tuple was failed: ${maxHeld} are held already, which is \`maxHeld\``);
  }

  /** A retried tuple has come under another host, and windows of it have ended. */
  #gather(tuple: Tuple, time: number, now: number, ctx: Ctx): unknown {
    const returning = this.#returning as ReturningTuples;
    const { size, gatherMs } = returning;
    if (size + this.#state.table.held >= this.#rules.maxHeld) {
      this.#tooMany(tuple, ctx);
      return undefined;
    }
    returning.gather(time, tuple);
    if (size === 0) ctx.process.runAfter(gatherMs, () => this.#returned(ctx));
    return this.#dispatch({ type: "tick", now }, ctx);
  }

  /** The windows of the gathered tuples are handed over again. */
  #returned(ctx: Ctx): unknown {
    const arrivals = this.#returning?.take() ?? [];
    if (arrivals.length === 0) return undefined;
    for (const { time } of arrivals) this.#times?.reopen(time);
    return this.#dispatch({ type: "return", arrivals }, ctx);
  }

  #tooLate(tuple: Tuple, ctx: Ctx): unknown {
    const { late, streams } = this.#rules;
    this.#returning?.forget(tuple);
    const lineage = this.#lineage;
    if (lineage?.placeOf(tuple) !== undefined && lineage.isStale(tuple)) {
      lineage.forget(tuple);
      return undefined;
    }
    this.#countLate();
    if (late === undefined) {
      this.#failForGood(tuple, ctx);
      return undefined;
    }
    const run = (given: Given): unknown =>
      typeof late === "string" ? given.emit[late]?.(tuple.values as never) : late(tuple, given);
    return give(ctx, streams, [tuple], run, () => [tuple]);
  }

  #countLate(): void {
    this.#late++;
    if (this.#lineage !== undefined) this.#lineage.meter.late++;
  }

  /** Fails a tuple without retries: they would not help, since its windows are over. */
  #failForGood(tuple: Tuple, ctx: Ctx): void {
    const pending = this.#lineage?.placeOf(tuple)?.pending;
    if (pending !== undefined) traceOf(pending).hopeless = true;
    ctx.fail(tuple);
    const before = this.#late - 1;
    ctx.log(
      "warn",
      () =>
        `failed a tuple of ${tuple.component}.${tuple.stream} for good: it is late, as ${before} were before; \`late\` takes such tuples`,
    );
  }

  // ── a window ──────────────────────────────────────────────────────────────────────────────────────────────────

  #handOver(window: WindowView<Tuple>, ctx: Ctx): unknown {
    const { execute, streams, plan } = this.#rules;
    const log = this.#log;
    const lineage = this.#lineage;
    const handedOver = this.#returning?.windows;
    // Emits are anchored to the window's own tuples: all others are settled.
    const whole = handedOver?.whole(window, ctx.now()) ?? window;
    const result =
      lineage === undefined || log === undefined
        ? undefined
        : new HandedOver(window, log, lineage, plan.kind === "time" && plan.everyMs < plan.ms);
    return give(
      ctx,
      streams,
      window.tuples,
      (given) => {
        if (result !== undefined) lineage?.emits(result);
        return execute(whole, given);
      },
      (done, settled) => {
        const end = this.#decide({ type: done ? "done" : "threw", settled });
        if (end?.type !== "release") return end === undefined ? [] : this.#failed(end.items, settled);
        handedOver?.done(whole, ctx.now());
        const released = this.#released(window, end.items, settled, ctx);
        result?.done();
        return released;
      },
    );
  }

  /** Returns the tuples to ack. */
  #released(
    window: WindowView<Tuple>,
    released: readonly Tuple[],
    settled: ReadonlySet<Tuple>,
    ctx: Ctx,
  ): readonly Tuple[] {
    if (this.#lineage === undefined) return released;
    const note = (tuple: Tuple, isLast: boolean): void => {
      const place = this.#lineage?.placeOf(tuple);
      if (place === undefined) return;
      place.windowed = true;
      if (isLast) place.done = true;
    };
    for (const tuple of window.added) if (!settled.has(tuple)) note(tuple, false);
    for (const tuple of released) note(tuple, true);
    for (const tuple of settled) if (tuple.state === ACKED) note(tuple, true);
    if (this.#doomed.size === 0) return released;
    return released.filter((tuple) => {
      if (!this.#doomed.delete(tuple)) return true;
      this.#countLate();
      this.#failForGood(tuple, ctx);
      return false;
    });
  }

  /** Returns the tuples to fail. */
  #failed(failed: readonly Tuple[], settled: ReadonlySet<Tuple>): readonly Tuple[] {
    for (const tuple of failed) if (!settled.has(tuple)) this.#lineage?.lost(tuple);
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
  throw new OptionError("the result of `by`", time, "a number of milliseconds that a Date could have");
}
