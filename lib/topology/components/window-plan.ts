// Which windows there are to be, as users say it: tumbling or sliding, by count or by time.

import { OptionError } from "../../process/errors.js";
import { count, delay } from "../../process/options.js";

/** Windows of so many tuples. */
export interface CountPlan {
  readonly kind: "count";
  readonly count: number;
  readonly every: number;
}

/** Windows of time. */
export interface TimePlan<V> {
  readonly kind: "time";
  readonly ms: number;
  readonly everyMs: number;
  /** The time of a tuple; without, it is when the tuple came. */
  readonly by: ((values: V) => number) | undefined;
  readonly lagMs: number;
}

/** Windows over tuples that carry `V`: what {@link tumbling} and {@link sliding} make. */
export type WindowPlan<V> = CountPlan | TimePlan<V>;

/** Windows of so many tuples, a whole number. */
export interface CountSpan {
  readonly count: number;
}

/** Windows of so many milliseconds, a whole number. */
export interface TimeSpan<V> {
  readonly ms: number;
  /**
   * The time of a tuple in milliseconds of any clock (event time). Say what it takes: `by: (values: { at:
   * number }) => values.at`. Without, the time of a tuple is when it came (processing time, which the
   * system's clock measures).
   */
  readonly by?: (values: V) => number;
  /**
   * With `by`: by how many milliseconds a tuple may be older than the youngest that came before it and still
   * be in all of its windows. A window is handed over that much later. Default 0.
   */
  readonly lagMs?: number;
}

/**
 * Windows one after the other: each tuple is in one. Windows of time begin at multiples of `ms`.
 *
 * @throws OptionError when an option is not what it has to be
 * @example
 * const hundreds = tumbling({ count: 100 });
 * const minutes = tumbling({ ms: 60_000, by: (values: { at: number }) => values.at, lagMs: 5_000 });
 */
export function tumbling<V = unknown>(options: CountSpan | TimeSpan<V>): WindowPlan<V> {
  return plan("tumbling(options)", options, undefined);
}

/**
 * Windows that overlap: of the last `count` tuples at every so many of them; or of `ms` milliseconds,
 * beginning at each multiple of `everyMs`. `every` and `everyMs` are whole numbers, and at most the size of a window.
 *
 * @throws OptionError when an option is not what it has to be
 * @example
 * const lastHundred = sliding({ count: 100, every: 10 });
 * const lastMinute = sliding({ ms: 60_000, everyMs: 5_000 });
 */
export function sliding<V = unknown>(
  options: (CountSpan & { readonly every: number }) | (TimeSpan<V> & { readonly everyMs: number }),
): WindowPlan<V> {
  const { ms, every, everyMs } = (options ?? {}) as { ms?: number; every?: number; everyMs?: number };
  const slide = ms === undefined ? every : everyMs;
  if (slide === undefined)
    throw new OptionError(`sliding(options).${ms === undefined ? "every" : "everyMs"}`, undefined, "given");
  return plan("sliding(options)", options, slide);
}

function plan<V>(path: string, options: CountSpan | TimeSpan<V>, slide: number | undefined): WindowPlan<V> {
  const given = options as Partial<CountSpan & TimeSpan<V>> | null | undefined;
  if (typeof given !== "object" || given === null) throw new OptionError(path, given, "an object");
  const { by, lagMs } = given;
  if ((given.count === undefined) === (given.ms === undefined))
    throw new OptionError(path, given, "given either `count` or `ms`");
  const size =
    given.ms === undefined ? count(`${path}.count`, given.count, 1) : count(`${path}.ms`, given.ms, 1);
  const slidePath = `${path}.${given.ms === undefined ? "every" : "everyMs"}`;
  const every = count(slidePath, slide ?? size, 1);
  if (every > size)
    throw new OptionError(slidePath, every, `at most ${size}, or some tuples would be in no window`);
  if (by !== undefined && (given.ms === undefined || typeof by !== "function"))
    throw new OptionError(`${path}.by`, by, "a function, for windows of `ms`");
  if (lagMs !== undefined && by === undefined)
    throw new OptionError(
      `${path}.lagMs`,
      lagMs,
      "left out without `by`: tuples come in the order in which they come",
    );
  if (given.ms === undefined) return Object.freeze({ kind: "count", count: size, every });
  return Object.freeze({
    kind: "time",
    ms: size,
    everyMs: every,
    by,
    lagMs: delay(`${path}.lagMs`, lagMs ?? 0),
  });
}
