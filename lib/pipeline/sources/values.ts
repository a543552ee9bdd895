// Sources of values in memory, and of any iterable.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { checkName } from "../definition/queue.js";
import type { Source, SourceContext, Sourced } from "../definition/source.js";

/** Options of {@link fromValues} and {@link fromIterable}. */
export interface ValuesOptions<T> {
  /** Gives the key of each message. Default: it has none. */
  readonly key?: (value: T) => string | undefined;
}

/** Options of {@link fromIterable} with checkpoints of its own. */
export interface IterableOptions<T, C> extends ValuesOptions<T> {
  /** The place behind a value: plain data, with which the iterable can be opened again. */
  readonly checkpoint: (value: T) => C;
}

/**
 * A source of values in memory. Its checkpoint is how many were given.
 *
 * @param values - the same values, in the same order, in each run of the program
 * @throws OptionError
 * @example
 * const words = feed(fromValues("words", ["to", "be"]), queue<string>("words"));
 */
export function fromValues<T>(
  name: string,
  values: readonly T[],
  options: ValuesOptions<T> = {},
): Source<T, number> {
  checkName("name", name);
  if (!Array.isArray(values)) throw new OptionError("values", values, "a list of values");
  only("", options, ["key"]);
  const key = keyOption(options.key);
  return {
    name,
    *open({ checkpoint = 0 }) {
      for (let i = count("checkpoint", checkpoint, 0); i < values.length; i++)
        yield sourced(values[i] as T, i + 1, key);
    },
  };
}

/**
 * A source of the values of any iterable, such as a stream or a cursor of a database. One that is not asynchronous is the fastest: no promise
 * is made for its values.
 *
 * Without `checkpoint` the source counts: after an interruption it opens the iterable again, and skips as many values as were given.
 * With `checkpoint` the iterable is opened behind the last value, so nothing is read twice.
 *
 * @param open - opens the iterable; it gets the last checkpoint (only with `checkpoint`), the input and an AbortSignal
 * @throws OptionError
 * @example
 * const rows = async function* (after: number) {
 *   for (let id = after + 1; id <= 3; id++) yield { id };
 * };
 * const source = fromIterable("rows", ({ checkpoint }) => rows(checkpoint ?? 0), {
 *   checkpoint: ({ id }: { readonly id: number }) => id,
 * });
 */
export function fromIterable<T, C>(
  name: string,
  open: (ctx: SourceContext<C>) => AsyncIterable<T> | Iterable<T>,
  options: IterableOptions<T, C>,
): Source<T, C>;
export function fromIterable<T>(
  name: string,
  open: (ctx: SourceContext<number>) => AsyncIterable<T> | Iterable<T>,
  options?: ValuesOptions<T>,
): Source<T, number>;
export function fromIterable<T, C>(
  name: string,
  open: (ctx: SourceContext<C>) => AsyncIterable<T> | Iterable<T>,
  options: Partial<IterableOptions<T, C>> = {},
): Source<T, C> {
  checkName("name", name);
  if (typeof open !== "function") throw new OptionError("open", open, "a function that opens the iterable");
  only("", options, ["key", "checkpoint"]);
  const key = keyOption(options.key);
  const { checkpoint } = options;
  if (checkpoint !== undefined && typeof checkpoint !== "function")
    throw new OptionError("checkpoint", checkpoint, "a function of the value");
  return {
    name,
    open(ctx): Iterable<Sourced<T, C>> | AsyncIterable<Sourced<T, C>> {
      const given = checkpoint === undefined ? count("checkpoint", ctx.checkpoint ?? 0, 0) : 0;
      let n = 0;
      /** Undefined: it was given before. */
      const next = (value: T): Sourced<T, C> | undefined => {
        ctx.signal.throwIfAborted();
        n++;
        if (checkpoint !== undefined) return sourced(value, checkpoint(value), key);
        return n > given ? sourced(value, n as C, key) : undefined;
      };
      const opened = iterable(open(ctx));
      return Symbol.asyncIterator in opened ? later(opened, next) : atOnce(opened, next);
    },
  };
}

/** No promise for values that are there. */
function* atOnce<T, S>(values: Iterable<T>, next: (value: T) => S | undefined): Generator<S> {
  for (const value of values) {
    const made = next(value);
    if (made !== undefined) yield made;
  }
}

async function* later<T, S>(values: AsyncIterable<T>, next: (value: T) => S | undefined): AsyncGenerator<S> {
  for await (const value of values) {
    const made = next(value);
    if (made !== undefined) yield made;
  }
}

/** @throws OptionError */
function iterable<T>(given: AsyncIterable<T> | Iterable<T>): AsyncIterable<T> | Iterable<T> {
  if (
    typeof given === "object" &&
    given !== null &&
    (Symbol.asyncIterator in given || Symbol.iterator in given)
  )
    return given;
  throw new OptionError("open", given, "a function that returns an iterable or an async iterable");
}

/** @throws OptionError */
export function keyOption<T>(key: ((value: T) => string | undefined) | undefined): typeof key {
  if (key === undefined || typeof key === "function") return key;
  throw new OptionError("key", key, "a function of the value");
}

/** A value with its checkpoint, and its key if there is one. */
export function sourced<T, C>(
  value: T,
  checkpoint: C,
  key: ((value: T) => string | undefined) | undefined,
): Sourced<T, C> {
  return key === undefined ? { value, checkpoint } : { value, checkpoint, key: key(value) };
}
