// Options of queues and of starts in them, checked once. Durations become milliseconds, Infinity stands for no limit.

import { HIGHEST_PRIORITY } from "../../dispatch/queue-machine.js";
import { type Duration, duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { among, asGiven, type Check, checked, maybe, whole } from "../../process/option-schema.js";
import { count, text } from "../../process/options.js";
import type { QueueLimits, Rate } from "./choice.js";

/** At most `limit` starts within any `period`, by the clock of the store. */
export interface RateOptions {
  /** 1 to 100,000. */
  readonly limit: number;
  /** The length of the window. */
  readonly period: Duration;
}

/** Limits of a queue of flows. All of them hold at the same time; a limit that is absent does not apply. */
export interface QueueOptions {
  /** Most flows that run at the same time, over all hosts of the store. */
  readonly concurrency?: number;
  /** Most flows that run at the same time on one host. Flows taken over from a dead host may exceed it. */
  readonly perHost?: number;
  /** How many flows may start within a period, over all hosts of the store. */
  readonly rate?: RateOptions;
  /** Limits of each key, over all hosts: of each customer, for example. */
  readonly perKey?: {
    /** Most flows of one key that run at the same time. */
    readonly concurrency?: number;
    /** Most starts of one key in a period. */
    readonly rate?: RateOptions;
  };
  /**
   * What a flow does with its place while it only waits and is out of memory. `keep` (the default): no other flow of its key runs in
   * between. `release`: others run meanwhile, and it waits for its turn again, ahead of flows that were started later. A flow in the
   * hospital never keeps its place.
   */
  readonly whileWaiting?: "keep" | "release";
}

/** How a start waits in a queue. */
export interface QueuedStart {
  /** The key whose limits count, and whose flows take turns with those of other keys. Default: none. */
  readonly key?: string;
  /** From 0 to 9, higher first. Default 0. */
  readonly priority?: number;
}

/** A start that waits for others like it. */
export interface DebounceOptions {
  /** Starts of the same flow with the same key are one, until it runs. */
  readonly key: string;
  /** It runs when no further start has come for this long. */
  readonly wait: Duration;
  /** It runs at the latest this long after the first of the starts. Default: ten times `wait`. */
  readonly atMost?: Duration;
}

/** A queue, checked. */
export interface QueueSettings {
  readonly name: string;
  readonly limits: QueueLimits;
  readonly releases: boolean;
}

/** A debounce, checked. */
export interface Debounce {
  readonly key: string;
  readonly waitMs: number;
  readonly atMostMs: number;
}

/** Bounds of what queues may ask for. */
export const QUEUE_LIMITS: Readonly<Record<"rate" | "name" | "debounceFactor", number>> = {
  /** Largest number of starts within a period: each is a row until it leaves the period. */
  rate: 100_000,
  /** Longest name of a queue, key or debounce, in characters. */
  name: 200,
  /** By default a debounced flow runs at the latest after so many of its waits. */
  debounceFactor: 10,
};

/** @throws OptionError */
export function checkQueues(queues: unknown): ReadonlyMap<string, QueueSettings> {
  if (typeof queues !== "object" || queues === null || Array.isArray(queues))
    throw new OptionError(
      "queues",
      queues,
      "an object of queues by name, such as { emails: { concurrency: 10 } }",
    );
  return new Map(Object.entries(queues).map(([name, options]) => [name, checkQueue(name, options)]));
}

const LIMIT = whole(1, Number.POSITIVE_INFINITY);
const UNLIMITED = { concurrency: Number.POSITIVE_INFINITY };
/** Up to the next millisecond. */
const period =
  (least: number): Check<number> =>
  (path, given) =>
    Math.ceil(duration(path, given, least));
const RATE = { limit: whole(1, QUEUE_LIMITS.rate), period: period(1) };
const rate = maybe((path, given): Rate => {
  const { limit, period: periodMs } = checked(path, given as object, RATE);
  return { limit, periodMs };
});
const PER_KEY = { concurrency: LIMIT, rate };
const QUEUE = {
  concurrency: LIMIT,
  perHost: LIMIT,
  rate,
  perKey: (path: string, given: unknown) => checked(path, given as object, PER_KEY, UNLIMITED),
  whileWaiting: among("keep", "release"),
};
const USUAL = {
  ...UNLIMITED,
  perHost: Number.POSITIVE_INFINITY,
  perKey: {} as never,
  whileWaiting: "keep",
} as const;

function checkQueue(name: string, options: QueueOptions): QueueSettings {
  short("the name of a queue", name);
  const { perKey, whileWaiting, ...all } = checked(`queues.${name}`, options, QUEUE, USUAL);
  const limits = { ...all, perKey: perKey.concurrency, keyRate: perKey.rate };
  return { name, limits, releases: whileWaiting === "release" };
}

/** The key of a start, and its rank: 0 goes first. @throws OptionError */
export function checkQueued({ key, priority = 0 }: QueuedStart): {
  readonly lane: string;
  readonly rank: number;
} {
  const lane = key === undefined ? "" : short("key", key);
  if (count("priority", priority, 0) > HIGHEST_PRIORITY)
    throw new OptionError("priority", priority, `a whole number from 0 to ${HIGHEST_PRIORITY}`);
  return { lane, rank: HIGHEST_PRIORITY - priority };
}

/** @throws OptionError */
export function checkDebounce(options: DebounceOptions): Debounce {
  const checks = { key: short, wait: period(1), atMost: asGiven<Duration | undefined>() };
  const { key, wait: waitMs, atMost } = checked("debounce", options, checks);
  const longest = atMost ?? waitMs * QUEUE_LIMITS.debounceFactor;
  return { key, waitMs, atMostMs: period(waitMs)("debounce.atMost", longest) };
}

function short(path: string, value: unknown): string {
  const given = text(path, value);
  if (given.length <= QUEUE_LIMITS.name) return given;
  throw new OptionError(path, value, `a text of at most ${QUEUE_LIMITS.name} characters`);
}

/** When a flow that is started runs. */
export interface StartTiming extends QueuedStart {
  /** The queue in which it waits for its turn. Default: that of its definition, or none. */
  readonly queue?: string;
  /** It does not run before this time has passed. Default: it runs at once. */
  readonly delay?: Duration;
  /** Starts that come close together are one: the flow runs once, with the last input. */
  readonly debounce?: DebounceOptions;
}

/** When a flow runs, checked. */
export interface Timing {
  readonly queue: string | undefined;
  readonly lane: string;
  readonly rank: number;
  readonly delayMs: number;
  readonly debounce: Debounce | undefined;
}

/** Names of the options of {@link StartTiming}. */
export const TIMING: readonly (keyof StartTiming)[] = ["queue", "key", "priority", "delay", "debounce"];

/**
 * Checks when a flow runs.
 *
 * @param fallback - the queue of its definition
 * @throws OptionError
 */
export function checkTiming(
  options: StartTiming,
  fallback: string | undefined,
  queues: ReadonlyMap<string, QueueSettings>,
): Timing {
  const { queue = fallback, key, priority, delay, debounce } = options;
  if (queue !== undefined) checkQueueName("queue", queue, queues);
  else if (key !== undefined || priority !== undefined)
    throw new OptionError(
      key === undefined ? "priority" : "key",
      key ?? priority,
      "absent, as the flow is in no queue",
    );
  const delayMs = delay === undefined ? 0 : Math.ceil(duration("delay", delay));
  if (delay !== undefined && debounce !== undefined)
    throw new OptionError("delay", delay, "absent beside `debounce`, whose `wait` delays the flow");
  return {
    queue,
    ...checkQueued(options),
    delayMs,
    debounce: debounce === undefined ? undefined : checkDebounce(debounce),
  };
}

/** @throws OptionError when the host has no such queue */
export function checkQueueName(
  path: string,
  queue: unknown,
  queues: ReadonlyMap<string, QueueSettings>,
): void {
  if (typeof queue === "string" && queues.has(queue)) return;
  const known = [...queues.keys()].map((name) => `"${name}"`);
  const allowed =
    known.length > 0
      ? `one of the queues of the host: ${known.join(", ")}`
      : "absent: the host has no queues";
  throw new OptionError(path, queue, allowed);
}
