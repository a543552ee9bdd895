// Windows: work on the tuples of the last minute, or on the last hundred, again and again as they move on.
//
// Tuples that a window holds are pending at their spouts, for as long as a later window can contain them. So
// a window has to fit in what the spouts may have pending (`maxPending` for each of their tasks, shared among
// the tasks of the bolt): one of a thousand tuples never fills from a spout that has 128 under way. And its
// time, with lag, has to be well below the `messageTimeoutMs`: a tuple that expires is emitted again while the
// first is still held, and is in the window twice.

import { type Backoff, checkBackoff } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import { count } from "../../process/options.js";
import type {
  BoltContext,
  BoltDefinition,
  Hooks,
  InitContext,
  Inputs,
  TupleOf,
} from "../definition/component.js";
import { TOPOLOGY_DEFAULTS } from "../definition/config.js";
import type { AnyValues, Fields, Streams, ValuesOf } from "../definition/field.js";
import type { Tuple } from "../definition/tuple.js";
import { checkOptions, type HoldingOptions, holdingBolt, tickFor } from "./holding.js";
import type { WindowView } from "./window-machine.js";
import type { WindowPlan } from "./window-plan.js";
import { type WindowRules, WindowTask } from "./window-task.js";

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
  /** Called for each window that has tuples, and again when it threw. */
  readonly execute: (window: WindowView<In>, ctx: BoltContext<S, State>) => unknown;
  /** How often a window whose `execute` threw is tried again before its tuples fail. Default 3. */
  readonly retries?: number;
  /** Waits before that. Default from 100 to 10,000 ms. */
  readonly retryBackoff?: Backoff;
  /**
   * For windows with `by`: what becomes of a tuple whose windows have all been handed over. The name of one of `streams`:
   * its values are emitted there, anchored to it. A function: is given the tuple. It is acked afterwards, and failed when
   * the function throws. Default: it fails for good, without another try, with a line of level `warn` in the log. The
   * metric `late` counts such tuples in any case.
   */
  readonly late?: (keyof S & string) | ((tuple: In, ctx: BoltContext<S, State>) => unknown);
}

const MAX_HELD = 100_000;

/**
 * Defines a bolt that works on windows of tuples. What `execute` emits joins the trees of all tuples of the
 * window, unless it says otherwise. While it is awaited, the task takes nothing.
 *
 * - A tuple is acked when `execute` is done with the last window that can contain it. When `execute` throws,
 *   that window is tried again, as often as `retries` says; what comes meanwhile is taken, and later windows
 *   wait. Then all of its tuples are failed, and no later window has them: they come again as new ones. For
 *   `added` and `removed` it is as if that window had never been. A tuple that `execute` has acked or failed
 *   itself is in no later window either.
 * - Windows of time are handed over in order, but for those below; none that is empty. Without `by` they end
 *   by the system's clock, which the bolt looks at when a tuple comes, and four times in each slide, once a
 *   second at least (`config.tickMs`, unless given).
 * - With `by` a window ends when a tuple comes that is `lagMs` or more past its end; nothing else moves this
 *   time on. One tuple far in the future ends all windows before it. A tuple belongs into each of its windows
 *   that was not handed over yet, also when these have ended: such a window is handed over at once. A tuple is
 *   late when there is none; see {@link WindowOptions.late}.
 * - With `by`, tuples that fail in a task, as it crashes or its `execute` throws, or in front of it, come into
 *   their windows when they are tried again: until then, and for one `messageTimeoutMs` at most, no window that
 *   ends after them is handed over. Which windows were handed over outlives a crash of the task. A tuple that
 *   is tried again since something else failed is in no window twice. `added` and `removed` are counted from
 *   the last window of the same process: after a restart, all tuples are added.
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
 *   window: tumbling({ ms: 60_000, by: (values: { at: number }) => values.at, lagMs: 5_000 }),
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
  checkOptions("windowBolt(options)", options, []);
  const plan = options.window as WindowPlan<AnyValues>;
  const maxHeld = count("maxHeld", options.maxHeld ?? MAX_HELD, 1);
  const late = options.late as WindowRules["late"];
  checkPlan(plan as WindowPlan<never>, maxHeld, late);
  const by = plan.kind === "time" ? plan.by : undefined;
  const rules: WindowRules = {
    plan,
    maxHeld,
    retries: count("retries", options.retries ?? TOPOLOGY_DEFAULTS.retries, 0, true),
    retryBackoff: checkBackoff("retryBackoff", options.retryBackoff ?? TOPOLOGY_DEFAULTS.retryBackoff),
    late,
    streams: Object.keys(options.streams ?? {}),
    execute: options.execute as WindowRules["execute"],
  };
  const definition = holdingBolt<WindowTask>(options as unknown as HoldingOptions, {
    hold: (ctx) => new WindowTask(rules, ctx),
    execute: (tuple, ctx) => ctx.state.held.take(tuple, ctx),
    // Nothing but tuples moves the time of tuples, or their number.
    tick:
      plan.kind === "count" || by !== undefined
        ? undefined
        : { ms: tickFor(plan.everyMs), run: (ctx) => ctx.state.held.tick(ctx) },
    holdsMs: plan.kind === "time" && by === undefined ? plan.ms : undefined,
    // One that slides is handed over when it is not full yet, but lets nothing go before it is.
    holdsCount: plan.kind === "count" ? plan.count : undefined,
    flush: (ctx) => ctx.state.held.flush(ctx),
  });
  if (typeof late === "string") checkLateStream(late, definition);
  return definition;
}

/** @throws OptionError */
function checkPlan(plan: WindowPlan<never> | undefined, maxHeld: number, late: unknown): void {
  if (plan?.kind !== "count" && plan?.kind !== "time")
    throw new OptionError("window", plan, "made by `tumbling` or `sliding`");
  if (plan.kind === "count" && plan.count > maxHeld)
    throw new OptionError("maxHeld", maxHeld, `at least ${plan.count}, the size of a window`);
  if (late !== undefined && typeof late !== "function" && typeof late !== "string")
    throw new OptionError("late", late, "a function, or one of its streams");
  if (late !== undefined && (plan.kind === "count" || plan.by === undefined))
    throw new OptionError("late", late, "left out: only windows of time with `by` know a late tuple");
}

/** It carries the values of the tuple that was late. @throws OptionError */
function checkLateStream(late: string, { inputs, streams }: BoltDefinition): void {
  const fields = Object.hasOwn(streams, late) ? streams[late] : undefined;
  if (fields === undefined)
    throw new OptionError(
      "late",
      late,
      `a function, or one of its streams: ${Object.keys(streams).join(", ")}`,
    );
  for (const input of Object.values(inputs))
    for (const name of Object.keys(fields))
      if (!Object.hasOwn(input, name))
        throw new OptionError(
          `streams.${late}.${name}`,
          name,
          "a field that every tuple of its input carries",
        );
}
