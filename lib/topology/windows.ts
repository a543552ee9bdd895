// Windows: work on the tuples of the last minute, or on the last hundred, again and again as they move on.
//
// Tuples that a window holds are pending at their spouts, for as long as a later window can contain them. So
// a window has to fit in what the spouts may have pending (`maxPending` for each of their tasks, shared among
// the tasks of the bolt): one of a thousand tuples never fills from a spout that has 128 under way. And its
// time, with lag, has to be well below the `messageTimeout`: a tuple that expires is emitted again while the
// first is still held, and is in the window twice.

import { OptionError } from "../process/errors.js";
import { count } from "../process/options.js";
import type { BoltContext, BoltDefinition, Hooks, InitContext, Inputs, TupleOf } from "./component.js";
import { textOf } from "./errors.js";
import type { Fields, Streams, ValuesOf } from "./field.js";
import {
  after,
  checkOptions,
  give,
  type HoldingContext,
  type HoldingOptions,
  holdingBolt,
  tickFor,
} from "./holding.js";
import type { Tuple } from "./tuple.js";
import { CountWindows } from "./window-count.js";
import type { WindowMachine, WindowView } from "./window-machine.js";
import type { WindowPlan } from "./window-plan.js";
import { TimeWindows } from "./window-time.js";

export interface WindowOptions<S extends Streams, State, In extends Tuple<unknown>>
  extends Hooks<BoltContext<S, State>> {
  /** What it emits. */
  readonly streams?: S;
  /** Which windows: {@link tumbling} or {@link sliding}. */
  readonly window: WindowPlan<In["values"]>;
  /**
   * Tuples that a task holds; one more is failed at once, so that its spout tries it again later. Default
   * 100,000. At least the size of a window that has a `count`.
   */
  readonly maxHeld?: number;
  /** Makes the state of a task, at every start and restart. */
  readonly init?: (ctx: InitContext) => State | Promise<State>;
  /** Called for each window that has tuples. */
  readonly execute: (window: WindowView<In>, ctx: BoltContext<S, State>) => unknown;
  /**
   * For windows with `by`: is given a tuple whose windows have all been handed over. It is acked afterwards,
   * and failed when this throws. Default: a line in the log, of level `debug`.
   */
  readonly late?: (tuple: In, ctx: BoltContext<S, State>) => unknown;
}

const MAX_HELD = 100_000;
/** The last millisecond that a Date can be, and as far from the end of whole numbers as windows need it. */
const LAST_MS = 8.64e15;

interface Held {
  readonly machine: WindowMachine<Tuple>;
  /** Tuples that came too late. */
  late: number;
}

/**
 * Defines a bolt that works on windows of tuples. What `execute` emits joins the trees of all tuples of the
 * window, unless it says otherwise. While it is awaited, the task takes nothing.
 *
 * - A tuple is acked when `execute` is done with the last window that can contain it. When `execute` throws,
 *   all tuples of that window are failed, and no later window has them: they come again as new ones. For
 *   `added` and `removed` it is as if that window had never been. A tuple that `execute` has acked or failed
 *   itself is in no later window either.
 * - Windows of time are handed over in order; none that is empty. Without `by` they end by the system's
 *   clock, which the bolt looks at when a tuple comes, and four times in each slide, once a second at least
 *   (`config.tick`, unless given).
 * - With `by` a window ends when a tuple comes that is `lag` or more past its end; nothing else moves this
 *   time on. One tuple far in the future ends all windows before it. A tuple that comes later than that is
 *   {@link WindowOptions.late}; so is the replay of one whose window failed, unless `lag` is longer than the
 *   wait before the retry.
 * - When the topology drains, what is open is handed over: windows of time in order, with what is there; by
 *   count, one with the last `count` tuples, if any of them is new. Then all tuples are acked.
 *
 * Windows are of one task: to have them per key, group its input by that field, and the tuples by it again in
 * `execute`.
 *
 * @throws OptionError when a part of the definition is not what it has to be
 * @example
 * const perMinute = windowBolt({
 *   input: { word: field.text, at: field.number },
 *   streams: { counts: { from: field.number, words: field.number } },
 *   window: tumbling({ ms: 60_000, by: (values: { at: number }) => values.at, lag: 5_000 }),
 *   execute: ({ tuples, start }, { emit }) => emit.counts({ from: start, words: tuples.length }),
 * });
 */
export function windowBolt<F extends Fields, S extends Streams = Record<never, never>, State = undefined>(
  options: WindowOptions<S, State, Tuple<ValuesOf<F>>> & { readonly input: F },
): BoltDefinition<{ readonly "*": F }, S>;
export function windowBolt<I extends Inputs, S extends Streams = Record<never, never>, State = undefined>(
  options: WindowOptions<S, State, TupleOf<I>> & { readonly inputs: I },
): BoltDefinition<I, S>;
export function windowBolt(
  options: WindowOptions<Streams, unknown, never> & { readonly input?: Fields; readonly inputs?: Inputs },
): BoltDefinition {
  checkOptions("windowBolt(options)", options, ["late"]);
  const plan = options.window as WindowPlan<unknown>;
  const maxHeld = count("maxHeld", options.maxHeld ?? MAX_HELD, 1);
  checkPlan(plan, maxHeld, options.late);
  const streams = Object.keys(options.streams ?? {});
  const by = plan.kind === "time" ? plan.by : undefined;
  const lag = plan.kind === "time" ? plan.lag : 0;

  return holdingBolt<Held>(options as unknown as HoldingOptions, {
    hold: () => ({
      machine: plan.kind === "count" ? new CountWindows(plan) : new TimeWindows({ ...plan, maxHeld }),
      late: 0,
    }),
    execute: (tuple, ctx) => {
      let time: number;
      try {
        time = by === undefined ? ctx.now() : checkTime(by(tuple.values));
      } catch (error) {
        ctx.fail(tuple);
        ctx.log("error", () => `a tuple has no time: ${textOf(error)}`);
        return undefined;
      }
      // What ends before this tuple goes first: it may make the room that the tuple needs.
      ctx.state.held.machine.tick(time - lag);
      return after(ctx, handOverDue(ctx), () => take(tuple, time, ctx));
    },
    // Nothing but tuples moves the time of tuples, or their number.
    tick:
      plan.kind === "count" || by !== undefined
        ? undefined
        : {
            ms: tickFor(plan.every),
            run: (ctx) => {
              ctx.state.held.machine.tick(ctx.now());
              return handOverDue(ctx);
            },
          },
    holdsMs: plan.kind === "time" && by === undefined ? plan.ms : undefined,
    flush: (ctx) => {
      const { machine } = ctx.state.held;
      machine.flush();
      return after(ctx, handOverDue(ctx), () => {
        for (const tuple of machine.clear()) ctx.ack(tuple);
      });
    },
  });

  function take(tuple: Tuple, time: number, ctx: HoldingContext<Held>): unknown {
    const { held } = ctx.state;
    const added = held.machine.add(time, tuple);
    if (added === "held") return handOverDue(ctx);
    if (added === "late") return tooLate(tuple, ctx);
    ctx.fail(tuple);
    ctx.log("warn", () => `a tuple was failed: ${maxHeld} are held already, which is \`maxHeld\``);
    return undefined;
  }

  function tooLate(tuple: Tuple, ctx: HoldingContext<Held>): unknown {
    const { held } = ctx.state;
    held.late++;
    const run = (given: BoltContext<Streams, unknown>): unknown => {
      if (options.late !== undefined) return options.late(tuple as never, given);
      const before = held.late - 1;
      ctx.log(
        "debug",
        () => `a tuple of ${tuple.component} was dropped: it is late, as ${before} were before`,
      );
      return undefined;
    };
    return give(ctx, streams, [tuple], run, () => [tuple]);
  }

  function handOverDue(ctx: HoldingContext<Held>): unknown {
    const { machine } = ctx.state.held;
    for (let window = machine.next(); window !== undefined; window = machine.next()) {
      const result = handOver(machine, window, ctx);
      if (result !== undefined) return after(ctx, result, () => handOverDue(ctx));
    }
    return undefined;
  }

  function handOver(machine: WindowMachine<Tuple>, window: WindowView<Tuple>, ctx: HoldingContext<Held>) {
    const run = (given: BoltContext<Streams, unknown>): unknown =>
      options.execute(window as WindowView<never>, given);
    return give(ctx, streams, window.tuples, run, (done, settled) =>
      done ? machine.done(settled) : machine.failed(),
    );
  }
}

/** @throws OptionError */
function checkPlan(plan: WindowPlan<unknown> | undefined, maxHeld: number, late: unknown): void {
  if (plan?.kind !== "count" && plan?.kind !== "time")
    throw new OptionError("window", plan, "made by `tumbling` or `sliding`");
  if (plan.kind === "count" && plan.count > maxHeld)
    throw new OptionError("maxHeld", maxHeld, `at least ${plan.count}, the size of a window`);
  if (late !== undefined && (plan.kind === "count" || plan.by === undefined))
    throw new OptionError("late", late, "left out: only windows of time with `by` know a late tuple");
}

/** @throws OptionError */
function checkTime(time: unknown): number {
  if (typeof time === "number" && Math.abs(time) <= LAST_MS) return time;
  throw new OptionError("what `by` returns", time, "a number of milliseconds that a Date could have");
}
