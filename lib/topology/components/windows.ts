// Windows: work on the tuples of the last minute, or on the last hundred tuples, again and again as time moves on.
//
// A tuple is pending at its spout for as long as a later window can contain it. So a window has to fit into the number of
// tuples that the spouts may have pending (`maxPending` for each of their tasks, shared among the tasks of the bolt): a
// window of a thousand tuples never fills from a spout with 128 tuples in flight. The length of a window, with lag, has to
// be well below `messageTimeoutMs`: a tuple that expires is emitted again while the first one is still held, so the
// window contains it twice.

import { type Backoff, checkBackoff } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import { count } from "../../process/options.js";
import type {
  AnyStream,
  BoltContext,
  BoltDefinition,
  Hooks,
  InitContext,
  InputOption,
  Inputs,
  InputsOption,
  TupleOf,
} from "../definition/component.js";
import { TOPOLOGY_DEFAULTS } from "../definition/config.js";
import type { AnyValues, Fields, Streams, ValuesOf } from "../definition/field.js";
import { marked } from "../definition/made-by.js";
import type { Tuple } from "../definition/tuple.js";
import { checkOptions, type HoldingOptions, holdingBolt, tickFor } from "./holding.js";
import type { WindowPlan } from "./window-plan.js";
import type { WindowView } from "./window-table.js";
import { type WindowRules, WindowTask } from "./window-task.js";

export interface WindowOptions<S extends Streams, State, In extends Tuple<unknown>>
  extends Hooks<BoltContext<S, State>> {
  /** The streams that the bolt emits on. */
  readonly streams?: S;
  /** The windows: {@link tumbling} or {@link sliding}. */
  readonly window: WindowPlan<In["values"]>;
  /**
   * Tuples that a task holds. One more tuple is failed at once, so that its spout retries it later. Default 100,000. At
   * least the `count` of a window by count.
   */
  readonly maxHeld?: number;
  /** Makes the state of a task, at every start and restart. */
  readonly init?: (ctx: InitContext) => State | Promise<State>;
  /** Called for each window that has tuples, and called again when it threw. */
  readonly execute: (window: WindowView<In>, ctx: BoltContext<S, State>) => unknown;
  /** Retries of a window whose `execute` threw, before its tuples fail. Default 3. */
  readonly retries?: number;
  /** Waits before these retries. Default from 100 to 10,000 ms. */
  readonly retryBackoff?: Backoff;
  /**
   * For windows with `by`: handles a late tuple, whose windows have all been handed over. The name of one of `streams`
   * emits the tuple's values there, anchored to the tuple. A function is called with the tuple. The tuple is acked
   * afterwards, or failed when the function throws. Default: the tuple fails without a retry, and a line of level `warn`
   * is logged. The metric `late` counts such tuples in any case.
   */
  readonly late?: (keyof S & string) | ((tuple: In, ctx: BoltContext<S, State>) => unknown);
}

const MAX_HELD = 100_000;

/**
 * Defines a bolt that works on windows of tuples. By default an emit of `execute` is anchored to all tuples of the window.
 * While `execute` is awaited, the task takes no tuples.
 *
 * - A tuple is acked when `execute` is done with the last window that can contain it. When `execute` throws, the window
 *   is retried up to `retries` times. In the meantime the task takes tuples, and later windows wait. After the last retry
 *   all tuples of the window are failed, and no later window contains them: they are emitted again as new tuples. `added`
 *   and `removed` ignore a failed window. A tuple that `execute` acked or failed itself is in no later window either.
 * - Windows of time are handed over in order, except as the next points say. Empty windows are not handed over. Without
 *   `by`, windows end by the system's clock. The bolt checks the clock when a tuple comes, and four times in each slide,
 *   at least once a second (unless `config.tickMs` is given).
 * - With `by`, a window ends when a tuple comes that is `lagMs` or more past the window's end; nothing else moves this
 *   time on. One tuple far in the future ends all windows before it. A tuple goes into each of its windows that is not
 *   handed over yet. When such a window has ended already, it is handed over at once. A tuple without such a window is
 *   late; see {@link WindowOptions.late}.
 * - With `by`, a retried tuple goes to the task that its first try was sent to, even if the grouping chooses another. A tuple
 *   that fails in a task, because the task crashes or its `execute` throws, or that fails on the way there, still gets
 *   into its windows when it is retried: until then, and for at most one `messageTimeoutMs`, the task hands over no window
 *   that ends after the tuple. A restarted task knows which windows were handed over. A tuple that is retried because
 *   something else failed is in no window twice. `added` and `removed` refer to the last window of the same process, so
 *   after a restart all tuples count as added. `by` has to be quick: it runs when the tuple is sent, and again later.
 * - With `by`, when a tuple that descends from an emit of `execute` fails in another bolt, the window is handed over
 *   again with the tuples that this emit was anchored to. Each time spends a retry of theirs.
 * - Under another host, such as Storm, and placed with `on`, a retried tuple is a new tuple. With `by`, a tuple whose equal has come in the last four
 *   message timeouts counts as its retry. Its windows that have ended are handed over again, together with what else comes again
 *   in a quarter of the timeout. A window that is handed over again within four timeouts also has the tuples that it had before: they are
 *   settled, and not in `added`. A program that has run for less than four timeouts has no late tuples.
 * - When the topology drains, open windows are handed over: windows of time in order; by count, one window with the last
 *   `count` tuples, if any of them is new. Then all tuples are acked.
 *
 * Each task has windows of its own. For windows by key, group the bolt's input by that field, and group the tuples by the
 * same field in `execute`.
 *
 * @throws OptionError when a part of the definition is invalid
 * @example
 * const perMinute = windowBolt({
 *   input: { word: field.text, at: field.number },
 *   streams: { counts: { from: field.number, words: field.number } },
 *   window: tumbling({ ms: 60_000, by: (values: { at: number }) => values.at, lagMs: 5_000 }),
 *   execute: ({ tuples, start }, { emit }) => emit.counts({ from: start, words: tuples.length }),
 * });
 */
export function windowBolt<F extends Fields, S extends Streams = Record<never, never>, State = undefined>(
  options: WindowOptions<S, State, Tuple<ValuesOf<F>>> & InputOption<F>,
): BoltDefinition<AnyStream<F>, S>;
export function windowBolt<I extends Inputs, S extends Streams = Record<never, never>, State = undefined>(
  options: WindowOptions<S, State, TupleOf<I>> & InputsOption<I>,
): BoltDefinition<I, S>;
export function windowBolt(
  options: WindowOptions<Streams, unknown, never> & { readonly input?: Fields; readonly inputs?: Inputs },
): BoltDefinition {
  checkOptions("windowBolt(options)", options, ["window", "maxHeld", "retries", "retryBackoff", "late"]);
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
    // Without ticks: only tuples move event time, or fill a window by count.
    tick:
      plan.kind === "count" || by !== undefined
        ? undefined
        : { ms: tickFor(plan.everyMs), run: (ctx) => ctx.state.held.tick(ctx) },
    holdsMs: plan.kind === "time" && by === undefined ? plan.ms : undefined,
    // A sliding window is handed over before it is full, but no tuple is acked before that.
    holdsCount: plan.kind === "count" ? plan.count : undefined,
    flush: (ctx) => ctx.state.held.flush(ctx),
  });
  if (typeof late === "string") checkLateStream(late, definition);
  return marked(definition, { by: "window", hasEventTime: by !== undefined });
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

/** The stream has to accept the values of the late tuples. @throws OptionError */
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
