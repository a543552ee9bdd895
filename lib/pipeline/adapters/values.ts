// Adapters that work on the value alone: filter, map, split; and aggregate, which makes one value of many.

import { checked, maybe, ms, whole } from "../../process/option-schema.js";
import { callable, flag } from "../../process/options.js";
import {
  type Adapter,
  type AdapterContext,
  type BatchAdapter,
  type BatchContext,
  type BatchLimits,
  many,
} from "../definition/adapter.js";
import { type Condition, testOf } from "../definition/condition.js";
import { checkName } from "../definition/queue.js";
import { ADAPTER_DEFAULTS } from "./defaults.js";

/**
 * Lets messages pass for which a condition holds; all others end here. A function that is a type guard narrows the type.
 *
 * @throws OptionError
 * @example
 * interface Strike { readonly species: string; readonly cost: number }
 * const costly = route("costly", { from: queue<Strike>("strikes") })
 *   .via(filter("costly", { field: "cost", operator: "gt", value: 10_000 }))
 *   .via(filter("known", ({ species }) => species !== "unknown"));
 */
export function filter<I, O extends I>(name: string, condition: (value: I) => value is O): Adapter<I, O>;
export function filter<T>(name: string, condition: Condition<T>): Adapter<T, T>;
export function filter<T>(name: string, condition: Condition<T>): Adapter<T, T> {
  checkName("name", name);
  const passes = testOf("condition", condition as Condition);
  return { name, process: (value) => (passes(value) ? value : undefined) };
}

/**
 * Makes another value of each message; `undefined` ends the message. The same as `via(name, fn)`, as an adapter that can be shared.
 *
 * @throws OptionError
 * @example const upper = map("upper", (line: string) => line.toUpperCase());
 */
export function map<I, O>(
  name: string,
  fn: (value: I, ctx: AdapterContext) => O | undefined | PromiseLike<O | undefined>,
): Adapter<I, O> {
  checkName("name", name);
  callable("fn", fn);
  return { name, process: fn };
}

/**
 * Makes several messages of each: one for each value that the function gives.
 *
 * @param key - gives the key of each message. Default: they keep the key of the message at hand
 * @throws OptionError
 * @example const words = split("words", (line: string) => line.split(" "), (word) => word);
 */
export function split<I, O>(
  name: string,
  fn: (value: I, ctx: AdapterContext) => Iterable<O>,
  key?: (value: O, index: number) => string | undefined,
): Adapter<I, O> {
  checkName("name", name);
  callable("fn", fn);
  if (key !== undefined) callable("key", key);
  return { name, process: (value, ctx) => many(fn(value, ctx), key) };
}

/** Options of {@link aggregate}: when a batch is full. */
export type AggregateOptions = Partial<BatchLimits>;

const BATCH = { size: whole(1), everyMs: ms(1), byKey: flag, bytes: maybe(whole(1)) };

/** The limits of a batch, checked. @throws OptionError */
export function batchOption(path: string, given: Partial<BatchLimits> = {}): BatchLimits {
  const { batchSize: size, batchEveryMs: everyMs } = ADAPTER_DEFAULTS;
  const { bytes, ...limits } = checked(path, given, BATCH, { size, everyMs, byKey: false });
  return bytes === undefined ? limits : { ...limits, bytes };
}

/**
 * Makes one value of many messages: of a batch by size, by bytes or by time, with `byKey` for each key alone. The messages stay in the
 * ledger until their batch is done, so a crash loses none.
 *
 * @param fn - gets the values of a batch in their order; `undefined` ends them
 * @throws OptionError
 * @example
 * const sums = aggregate("sum", { size: 1_000, everyMs: 500, byKey: true }, (costs: readonly number[]) =>
 *   costs.reduce((sum, cost) => sum + cost, 0),
 * );
 */
export function aggregate<I, O>(
  name: string,
  options: AggregateOptions,
  fn: (values: readonly I[], ctx: BatchContext) => O | undefined | PromiseLike<O | undefined>,
): BatchAdapter<I, O> {
  checkName("name", name);
  callable("fn", fn);
  return {
    name,
    batch: batchOption("", options),
    async processBatch(values, ctx) {
      const value = await fn(values, ctx);
      return value === undefined ? undefined : [value];
    },
  };
}
