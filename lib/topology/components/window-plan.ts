// The windows that users configure: tumbling or sliding, by count or by time.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay } from "../../process/options.js";

/** Windows by count, checked. */
export interface CountPlan {
  readonly kind: "count";
  /** Tuples in a window: a whole number, 1 or more. */
  readonly count: number;
  /** Tuples from the begin of one window to the begin of the next: 1 to `count`. */
  readonly every: number;
}

/** Windows of time, checked. */
export interface TimePlan<V> {
  readonly kind: "time";
  /** Length of a window in milliseconds: a whole number, 1 or more. */
  readonly ms: number;
  /** Milliseconds from the begin of one window to the begin of the next: 1 to `ms`. */
  readonly everyMs: number;
  /** The time of a tuple. Without it, the time of a tuple is its arrival. */
  readonly by: ((values: V) => number) | undefined;
  /** Milliseconds by which a tuple may be older than the youngest before it and still be in all of its windows: 0 or more. */
  readonly lagMs: number;
}

/** Windows over tuples with the values `V`, made by {@link tumbling} or {@link sliding}. */
export type WindowPlan<V> = CountPlan | TimePlan<V>;

/** Windows of `count` tuples, a whole number. */
export interface CountSpan {
  /** Tuples in a window: a whole number, 1 or more. */
  readonly count: number;
}

/** Windows of `ms` milliseconds, a whole number. */
export interface TimeSpan<V> {
  /** Length of a window in milliseconds: a whole number, 1 or more. */
  readonly ms: number;
  /**
   * The time of a tuple in milliseconds of any clock (event time). Declare the type of its parameter:
   * `by: (values: { at: number }) => values.at`. Without `by`, the time of a tuple is its arrival by the system's clock
   * (processing time).
   */
  readonly by?: (values: V) => number;
  /**
   * With `by`: a tuple that is at most this many milliseconds older than the newest one before it still gets into all of
   * its windows. A window is handed over later by this time. Default 0.
   */
  readonly lagMs?: number;
}

/**
 * Windows one after the other, so that each tuple is in one window. Windows of time begin at multiples of `ms`.
 *
 * @throws OptionError when an option is invalid
 * @example
 * const hundreds = tumbling({ count: 100 });
 * const minutes = tumbling({ ms: 60_000, by: (values: { at: number }) => values.at, lagMs: 5_000 });
 */
export function tumbling<V = unknown>(options: CountSpan | TimeSpan<V>): WindowPlan<V> {
  return plan("tumbling(options)", options, undefined);
}

/**
 * Windows that overlap: after every `every` tuples a window with the last `count` tuples; or a window of `ms` milliseconds
 * at each multiple of `everyMs`. `every` and `everyMs` are whole numbers, and at most the size of a window.
 *
 * @throws OptionError when an option is invalid
 * @example
 * const lastHundred = sliding({ count: 100, every: 10 });
 * const lastMinute = sliding({ ms: 60_000, everyMs: 5_000 });
 */
export function sliding<V = unknown>(
  options:
    | (CountSpan & {
        /** Tuples from the begin of one window to the begin of the next: a whole number from 1 to `count`. */
        readonly every: number;
      })
    | (TimeSpan<V> & {
        /** Milliseconds from the begin of one window to the begin of the next: a whole number from 1 to `ms`. */
        readonly everyMs: number;
      }),
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
  only(path, given, [
    "count",
    "ms",
    "by",
    "lagMs",
    ...(path.startsWith("sliding") ? ["every", "everyMs"] : []),
  ]);
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
