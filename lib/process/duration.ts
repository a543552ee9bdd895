// Durations as people write them: milliseconds, a text with units, or an object. Parsed here alone.

import { OptionError } from "./errors.js";
import { only } from "./known-options.js";

/** A unit in the text of a duration. Months and years are missing: they have no fixed length. */
export type DurationUnit =
  | ("ms" | "millisecond" | "milliseconds")
  | ("s" | "second" | "seconds")
  | ("min" | "minute" | "minutes")
  | ("h" | "hour" | "hours")
  | ("d" | "day" | "days")
  | ("w" | "week" | "weeks");

type Part = `${number} ${DurationUnit}`;

/** A duration by its parts, which are added. At least one is given; each is 0 or more, and may have a fraction. */
export interface DurationParts {
  /** Weeks of 7 days. */
  readonly weeks?: number;
  /** Days of 24 hours. */
  readonly days?: number;
  /** Hours. */
  readonly hours?: number;
  /** Minutes. */
  readonly minutes?: number;
  /** Seconds. */
  readonly seconds?: number;
  /** Milliseconds. */
  readonly milliseconds?: number;
}

/**
 * A length of time: a number of milliseconds, a text of one or two numbers with units such as `"2 days"`, `"1.5 h"` or
 * `"1 day 12 hours"`, or an object such as `{ days: 1, hours: 12 }`. A day is 24 hours. A misspelled unit does not compile.
 */
export type Duration = number | Part | `${Part} ${Part}` | DurationParts;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** The longest duration: 1,000 years of 365.25 days. */
export const LONGEST_DURATION_MS: number = 365_250 * DAY;

const UNITS: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  millisecond: 1,
  milliseconds: 1,
  s: SECOND,
  second: SECOND,
  seconds: SECOND,
  min: MINUTE,
  minute: MINUTE,
  minutes: MINUTE,
  h: HOUR,
  hour: HOUR,
  hours: HOUR,
  d: DAY,
  day: DAY,
  days: DAY,
  w: WEEK,
  week: WEEK,
  weeks: WEEK,
};
const PARTS = ["weeks", "days", "hours", "minutes", "seconds", "milliseconds"] as const;

/** Most characters of a text: longer ones are no durations, and are not searched. */
const LONGEST_TEXT = 100;
const TEXT = /^(?:\d+(?:\.\d+)? [a-z]+(?: (?=\d)|$)){1,2}$/;
const CALENDAR = /month|year/;

/**
 * The milliseconds of a duration.
 *
 * @param path - of the option, for the error
 * @param least - the shortest duration that is allowed, in milliseconds
 * @throws OptionError when it is no duration, is shorter than `least` or longer than 1,000 years
 */
export function duration(path: string, value: unknown, least = 0): number {
  const ms = milliseconds(path, value);
  if (ms >= least && ms <= LONGEST_DURATION_MS) return ms;
  const shortest = least > 0 ? `at least ${durationText(least)} and ` : "";
  throw new OptionError(path, value, `${shortest}at most 1,000 years; ${allowed(value)}`);
}

function milliseconds(path: string, value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "string" && value.length <= LONGEST_TEXT && TEXT.test(value)) {
    const words = value.split(" ");
    let ms = 0;
    for (let i = 0; i < words.length; i += 2) ms += part(words[i] as string, words[i + 1] as string);
    return exact(ms);
  }
  if (typeof value === "object" && value !== null) {
    only(path, value, PARTS);
    const given = PARTS.filter((name) => (value as DurationParts)[name] !== undefined);
    if (given.length > 0) return exact(given.reduce((sum, name) => sum + partOf(path, value, name), 0));
  }
  return Number.NaN;
}

function partOf(path: string, value: DurationParts, name: (typeof PARTS)[number]): number {
  const count: unknown = value[name];
  if (typeof count === "number" && count >= 0) return count * UNITS[name];
  throw new OptionError(`${path}.${name}`, count, "a number, 0 or more");
}

function part(count: string, unit: string): number {
  return Object.hasOwn(UNITS, unit) ? Number(count) * UNITS[unit as DurationUnit] : Number.NaN;
}

/** Without the traces of binary fractions: 1.1 days are 95,040,000 ms. */
function exact(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

function allowed(value: unknown): string {
  const calendar = typeof value === "string" && CALENDAR.test(value);
  return `a number of milliseconds, an object such as { days: 1, hours: 12 }, or a text such as "2 days" or "1 h 30 min" with the units ms, s, min, h, d, w or their full words${
    calendar ? " (months and years have no fixed length)" : ""
  }`;
}

const SHOWN: readonly (readonly [name: string, ms: number])[] = [
  ["day", DAY],
  ["h", HOUR],
  ["min", MINUTE],
  ["s", SECOND],
  ["ms", 1],
];

/**
 * A duration for people: its two largest units, rounded, such as `2 days 3 h`. {@link duration} reads the text of any duration.
 *
 * @param ms - milliseconds; a value that is no finite number is shown as it is
 */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return String(ms);
  if (ms < 0) return `-${durationText(-ms)}`;
  const [at, [, least]] = unitsOf(ms);
  // Rounding may carry into a larger unit: 59.9996 s are 1 min.
  const rounded = Math.round(ms / least) * least;
  if (unitsOf(rounded)[0] !== at) return durationText(rounded);
  if (rounded < SECOND) return `${Number(rounded.toFixed(3))} ms`;
  const [name, size] = SHOWN[at] as readonly [string, number];
  const rest = Math.round((rounded % size) / least);
  const whole = `${Math.floor(rounded / size)} ${name}${name === "day" && rounded >= 2 * DAY ? "s" : ""}`;
  return rest === 0 || at === SHOWN.length - 1 ? whole : `${whole} ${rest} ${SHOWN[at + 1]?.[0]}`;
}

/** The place of the largest unit in a duration, and the unit to which it is rounded: the next one; thousandths of a millisecond. */
function unitsOf(ms: number): [at: number, least: readonly [string, number]] {
  const found = SHOWN.findIndex(([, size]) => ms >= size);
  const at = found < 0 ? SHOWN.length - 1 : found;
  return [at, SHOWN[at + 1] ?? ["ms", 0.001]];
}
