// Batches: tuples that are handled together, for work that costs little more for many tuples than for one, such as a bulk
// insert.

import { count, delay } from "../../process/options.js";
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
import type { Fields, Streams, ValuesOf } from "../definition/field.js";
import { marked } from "../definition/made-by.js";
import type { Tuple } from "../definition/tuple.js";
import {
  checkOptions,
  give,
  type HoldingContext,
  type HoldingOptions,
  holdingBolt,
  tickFor,
} from "./holding.js";

export interface BatchOptions<S extends Streams, State, In> extends Hooks<BoltContext<S, State>> {
  /** The streams that the bolt emits on. */
  readonly streams?: S;
  /**
   * Tuples of a full batch, which is handed over at once. Not more than the spouts may have pending: see
   * {@link batchBolt}.
   */
  readonly size: number;
  /**
   * Milliseconds from the first tuple of a batch until the batch is handed over, however small it is, at the next tick.
   * The bolt ticks four times in this time, and at least once a second, unless its `config` has another `tickMs`.
   */
  readonly everyMs?: number;
  /** Makes the state of a task, at every start and restart. */
  readonly init?: (ctx: InitContext) => State | Promise<State>;
  /** Called for each batch. */
  readonly execute: (batch: readonly In[], ctx: BoltContext<S, State>) => unknown;
}

/** The batch that a task collects. */
interface Gathering {
  tuples: Tuple[];
  /** Time of the first tuple. */
  since: number;
}

/**
 * Defines a bolt that works on batches of tuples, in order of arrival. When `execute` is done, all tuples of the batch are
 * acked; when it throws, they are failed. A tuple that `execute` acks or fails itself is not settled again. By default an
 * emit is anchored to all tuples of the batch that are not settled. While `execute` is awaited, the task takes no tuples.
 * When the topology drains, an incomplete batch is handed over.
 *
 * Tuples in an incomplete batch are pending at their spouts. If `size` is more than the spouts may have pending
 * (`maxPending` for each of their tasks, shared among the tasks of this bolt), and there is no `everyMs`, a batch never
 * fills: its tuples expire and are emitted again. For the same reason `everyMs` has to be well below
 * `messageTimeoutMs`.
 *
 * @throws OptionError when a part of the definition is invalid
 * @example
 * const store = batchBolt({
 *   input: { word: field.text },
 *   size: 100,
 *   everyMs: 1_000,
 *   execute: async (batch) => {
 *     const words = batch.map(({ values }) => values.word);
 *     await fetch("http://words.example/bulk", { method: "POST", body: JSON.stringify(words) });
 *   },
 * });
 */
export function batchBolt<F extends Fields, S extends Streams = Record<never, never>, State = undefined>(
  options: BatchOptions<S, State, Tuple<ValuesOf<F>>> & InputOption<F>,
): BoltDefinition<AnyStream<F>, S>;
export function batchBolt<I extends Inputs, S extends Streams = Record<never, never>, State = undefined>(
  options: BatchOptions<S, State, TupleOf<I>> & InputsOption<I>,
): BoltDefinition<I, S>;
export function batchBolt(
  options: BatchOptions<Streams, unknown, never> & { readonly input?: Fields; readonly inputs?: Inputs },
): BoltDefinition {
  checkOptions("batchBolt(options)", options, ["size", "everyMs"]);
  const size = count("size", options.size, 1);
  const everyMs = options.everyMs === undefined ? undefined : delay("everyMs", options.everyMs, 1);
  const streams = Object.keys(options.streams ?? {});

  const definition = holdingBolt<Gathering>(options as unknown as HoldingOptions, {
    hold: () => ({ tuples: [], since: 0 }),
    execute: (tuple, ctx) => {
      const { held } = ctx.state;
      if (held.tuples.length === 0) held.since = ctx.now();
      held.tuples.push(tuple);
      return held.tuples.length < size ? undefined : handOver(ctx);
    },
    tick:
      everyMs === undefined ? undefined : { ms: tickFor(everyMs), run: (ctx) => handOverOld(ctx, everyMs) },
    flush: (ctx) => (ctx.state.held.tuples.length === 0 ? undefined : handOver(ctx)),
    holdsMs: everyMs,
    holdsCount: everyMs === undefined ? size : undefined,
  });
  return marked(definition, { by: "batch" });

  function handOverOld(ctx: HoldingContext<Gathering>, ageMs: number): unknown {
    const { tuples, since } = ctx.state.held;
    return tuples.length > 0 && ctx.now() - since >= ageMs ? handOver(ctx) : undefined;
  }

  function handOver(ctx: HoldingContext<Gathering>): unknown {
    const batch = ctx.state.held.tuples;
    ctx.state.held.tuples = [];
    const run = (given: BoltContext<Streams, unknown>): unknown =>
      options.execute(batch as readonly Tuple[] as readonly never[], given);
    return give(ctx, streams, batch, run, () => batch);
  }
}
