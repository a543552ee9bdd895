// Turns a user's options of a schedule into a plain definition that a store keeps, and into the machine's configuration.

import { type Duration, duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { type Time, timeOf } from "./calendar.js";
import { type CronParser, checkZone } from "./cron.js";
import { ScheduleError } from "./errors.js";
import { atTimes, every, type Recurrence } from "./recurrence.js";
import type { MissedRule, OverlapRule, ScheduleConfig } from "./schedule-machine.js";

/** When a schedule is due, and how it deals with what goes wrong. Exactly one of `cron`, `every` and `at` is given. */
export interface ScheduleRules {
  /** A cron expression of five fields, or six with seconds in front. Needs the package croner. */
  readonly cron?: string;
  /**
   * A length of time, at least one second. Due times are its multiples since 1970: `"1 hour"` is due on the hour, in UTC, whenever
   * the host started.
   */
  readonly every?: Duration;
  /** Single times: dates, milliseconds since 1970, or texts in ISO 8601 with an offset. At most {@link SCHEDULE_LIMITS}`.times`. */
  readonly at?: readonly Time[];
  /** The time zone of a cron expression, from the IANA database. Default `UTC`. */
  readonly timeZone?: string;
  /** Which of the due times that passed while no host ran start a flow: none, the last one or all of them. Default `last`. */
  readonly missed?: MissedRule;
  /** The effect of a due time while the flow of the one before runs. Default `allow`. */
  readonly overlap?: OverlapRule;
  /** Flows start up to this much after their due time, so that many schedules do not start at once. Default none. */
  readonly jitter?: Duration;
  /** A due time counts as missed when hosts see it this much too late. Until then it starts its flow, by every rule. Default 1 minute. */
  readonly grace?: Duration;
  /** Most flows that `missed: "all"` starts at once, the latest ones. Default 100. */
  readonly backfill?: number;
}

/** A definition as a store keeps it: plain, with all defaults filled in. */
export interface ScheduleDefinition {
  /** A cron expression of five or six fields. */
  readonly cron?: string;
  /** The milliseconds between two starts. */
  readonly everyMs?: number;
  /** The moments of the starts, in milliseconds since 1970. */
  readonly at?: readonly number[];
  /** The IANA name of the time zone in which a cron expression is read. */
  readonly timeZone: string;
  /** The rule for starts that were missed. */
  readonly missed: MissedRule;
  /** The rule for a start while the flow before still runs. */
  readonly overlap: OverlapRule;
  /** By how many milliseconds chance delays a start at most. */
  readonly jitterMs: number;
  /** A start that is at most this many milliseconds late counts as in time. */
  readonly graceMs: number;
  /** Most missed starts that are made up for. */
  readonly backfill: number;
}

/** Defaults of schedules. */
export const SCHEDULE_DEFAULTS: Required<Omit<ScheduleRules, "cron" | "every" | "at">> = {
  timeZone: "UTC",
  missed: "last",
  overlap: "allow",
  jitter: 0,
  grace: 60_000,
  backfill: 100,
};

/** Bounds on what a schedule may ask for. */
export const SCHEDULE_LIMITS: Readonly<Record<"leastMs" | "times" | "backfill" | "name", number>> = {
  /** Shortest `every`, in milliseconds. */
  leastMs: 1_000,
  /** Most single times of one schedule. */
  times: 1_000,
  /** Largest `backfill`. */
  backfill: 1_000,
  /** Longest name. */
  name: 200,
};

/** Names of the options of {@link ScheduleRules}. */
export const RULES: readonly (keyof ScheduleRules)[] = [
  ...(["cron", "every", "at", "timeZone", "missed", "overlap", "jitter", "grace", "backfill"] as const),
];

/**
 * Checks the rules of a schedule.
 *
 * @param parse - reads cron expressions; undefined: none is expected
 * @throws ScheduleError
 */
export function defined(
  name: string,
  rules: ScheduleRules,
  parse: CronParser | undefined,
): ScheduleDefinition {
  const given = (["cron", "every", "at"] as const).filter((kind) => rules[kind] !== undefined);
  if (given.length !== 1)
    throw new ScheduleError(name, "cron, every or at", given, "exactly one of cron, every and at");
  const all = { ...SCHEDULE_DEFAULTS, ...withoutUndefined(rules) };
  checkZone(name, all.timeZone);
  const definition = {
    ...kindOf(name, rules),
    timeZone: all.timeZone,
    missed: wordOf(name, "missed", all.missed, ["skip", "last", "all"]),
    overlap: wordOf(name, "overlap", all.overlap, ["allow", "skip", "cancel"]),
    jitterMs: Math.round(lengthOf(name, "jitter", all.jitter, 0)),
    graceMs: lengthOf(name, "grace", all.grace, 0),
    backfill: backfillOf(name, all.backfill),
  };
  recurrenceOf(name, definition, parse);
  return definition;
}

/** @throws OptionError when an option is unknown or the name is none */
export function checkNames(name: unknown, options: object, known: readonly string[]): string {
  const { name: longest } = SCHEDULE_LIMITS;
  if (typeof name !== "string" || name === "" || name.length > longest || name.includes("/"))
    throw new OptionError("name", name, `a text of 1 to ${longest} characters without "/"`);
  only(`schedule ${name}`, options, known);
  return name;
}

/** The machine's configuration of a stored definition. @throws ScheduleError */
export function configOf(
  name: string,
  definition: ScheduleDefinition,
  parse: CronParser | undefined,
): ScheduleConfig {
  const { missed, overlap, graceMs, jitterMs, backfill } = definition;
  return {
    name,
    recurrence: recurrenceOf(name, definition, parse),
    missed,
    overlap,
    graceMs,
    jitterMs,
    backfill,
  };
}

function recurrenceOf(
  name: string,
  { cron, everyMs, at, timeZone }: ScheduleDefinition,
  parse: CronParser | undefined,
): Recurrence {
  if (everyMs !== undefined) return every(everyMs);
  if (at !== undefined) return atTimes(at);
  if (parse === undefined) throw new ScheduleError(name, "cron", cron, "given where croner is loaded");
  return parse(name, cron, timeZone);
}

function kindOf(name: string, { cron, every: length, at }: ScheduleRules): Partial<ScheduleDefinition> {
  if (cron !== undefined) return { cron };
  if (length !== undefined)
    return { everyMs: Math.round(lengthOf(name, "every", length, SCHEDULE_LIMITS.leastMs)) };
  const { times } = SCHEDULE_LIMITS;
  if (!Array.isArray(at) || at.length === 0 || at.length > times)
    throw new ScheduleError(name, "at", at, `a list of 1 to ${times} times`);
  return {
    at: at.map((one: unknown, i) => {
      const ms = timeOf(one);
      if (ms !== undefined) return ms;
      const allowed =
        'a Date, milliseconds since 1970, or a text with an offset such as "2026-11-22T18:00:00Z"';
      throw new ScheduleError(name, `at[${i}]`, one, allowed);
    }),
  };
}

function lengthOf(name: string, field: string, value: unknown, least: number): number {
  try {
    return duration(field, value, least);
  } catch (error) {
    const plain = 'a duration such as "15 minutes" or a number of milliseconds';
    const allowed = least > 0 ? `${plain}, at least ${least} ms` : plain;
    throw new ScheduleError(name, field, value, allowed, error);
  }
}

function wordOf<T extends string>(name: string, field: string, value: unknown, words: readonly T[]): T {
  if (words.includes(value as T)) return value as T;
  throw new ScheduleError(name, field, value, `one of ${words.map((word) => `"${word}"`).join(", ")}`);
}

function backfillOf(name: string, value: unknown): number {
  const most = SCHEDULE_LIMITS.backfill;
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most)
    return value as number;
  throw new ScheduleError(name, "backfill", value, `a whole number from 1 to ${most}`);
}

function withoutUndefined<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}
