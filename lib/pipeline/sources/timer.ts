// A source of the time: a message every so often, or at given times.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay } from "../../process/options.js";
import { pause } from "../../service/protection/scope.js";
import { checkName } from "../definition/queue.js";
import type { Source, SourceContext, Sourced } from "../definition/source.js";

/** A moment: a Date. */
export interface Moment {
  /** Milliseconds since 1970. */
  getTime(): number;
}

/** When a timer fires. */
export type TimerOptions =
  | {
      /** Every so many milliseconds, 1 or more. */
      readonly everyMs: number;
      /** How often in all. Default `Infinity`: the execution does not complete. */
      readonly times?: number;
    }
  | {
      /** At these times, which are in order. One that has passed fires at once. */
      readonly at: readonly Moment[];
    };

/** A message of a timer: plain data. */
export interface Tick {
  /** Counts from 0. */
  readonly n: number;
  /** When it was due, in milliseconds since 1970. */
  readonly dueMs: number;
}

/**
 * A source that gives a message every so often, or at given times. If times pass while no host runs the execution, `everyMs` keeps one of
 * them, which fires at once; `at` keeps them all.
 *
 * @throws OptionError
 * @example
 * const polls = feed(timer("polls", { everyMs: 60_000, times: 60 }), queue<Tick>("polls"));
 */
export function timer(name: string, options: TimerOptions): Source<Tick, Tick> {
  checkName("name", name);
  only("", options, ["everyMs", "times", "at"]);
  if ("at" in options) {
    if ("everyMs" in options || "times" in options)
      throw new OptionError("at", options.at, "alone: a timer fires every so often, or at given times");
    const at = timesOf(options.at);
    return { name, open: (ctx) => atTimes(at, ctx) };
  }
  const everyMs = delay("everyMs", options.everyMs, 1);
  const times = count("times", options.times ?? Number.POSITIVE_INFINITY, 0, true);
  return { name, open: (ctx) => every(everyMs, times, ctx) };
}

/** @throws OptionError */
function timesOf(given: readonly Moment[]): readonly number[] {
  if (!Array.isArray(given)) throw new OptionError("at", given, "a list of Dates");
  return given.map((date, i) => {
    const ms = typeof (date as Moment | undefined)?.getTime === "function" ? date.getTime() : Number.NaN;
    if (!Number.isFinite(ms)) throw new OptionError(`at[${i}]`, date, "a Date that is valid");
    if (i > 0 && ms < (given[i - 1] as Moment).getTime())
      throw new OptionError(`at[${i}]`, date, "not before the time in front of it");
    return ms;
  });
}

async function* atTimes(
  times: readonly number[],
  ctx: SourceContext<Tick>,
): AsyncGenerator<Sourced<Tick, Tick>> {
  const { env } = ctx.kernel;
  for (let n = nextOf(ctx); n < times.length; n++) {
    const dueMs = times[n] as number;
    // A clock that was set back meanwhile is asked again.
    for (let waitMs = dueMs - env.wallTime(); waitMs > 0; waitMs = dueMs - env.wallTime())
      await pause(ctx.kernel, waitMs, ctx.signal);
    ctx.signal.throwIfAborted();
    yield tick(n, dueMs);
  }
}

async function* every(
  everyMs: number,
  times: number,
  ctx: SourceContext<Tick>,
): AsyncGenerator<Sourced<Tick, Tick>> {
  const { kernel, checkpoint, signal } = ctx;
  const { env } = kernel;
  const openedMs = env.now();
  const wallMs = env.wallTime();
  let dueMs = checkpoint === undefined ? wallMs + everyMs : checkpoint.dueMs + everyMs;
  // After the clock was set back, the wait is at most one interval.
  if (dueMs > wallMs + everyMs) dueMs = wallMs + everyMs;
  for (let n = nextOf(ctx); n < times; n++) {
    const nowMs = wallMs + env.now() - openedMs;
    const missed = Math.floor((nowMs - dueMs) / everyMs);
    if (missed > 0) dueMs += missed * everyMs;
    if (dueMs > nowMs) await pause(kernel, dueMs - nowMs, signal);
    signal.throwIfAborted();
    yield tick(n, dueMs);
    dueMs += everyMs;
  }
}

function nextOf({ checkpoint }: SourceContext<Tick>): number {
  return checkpoint === undefined ? 0 : count("checkpoint.n", checkpoint?.n, 0) + 1;
}

function tick(n: number, dueMs: number): Sourced<Tick, Tick> {
  const value: Tick = { n, dueMs };
  return { value, checkpoint: value };
}
