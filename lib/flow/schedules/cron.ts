// Cron expressions, read by croner (an optional peer). Its rules for daylight saving time, which the tests pin: an expression whose
// hours and minutes are fixed runs once a day, after the gap if its time is left out, at the first of two if its time comes twice;
// all others skip what is left out, and run at both.

import type { Cron } from "croner";
import { PackageMissingError } from "../../process/package-missing.js";
import { dateOf } from "./calendar.js";
import { ScheduleError } from "./errors.js";
import type { Recurrence } from "./recurrence.js";

/** Reads a cron expression, in a time zone of the IANA database. @throws ScheduleError */
export type CronParser = (schedule: string, expression: unknown, timeZone: unknown) => Recurrence;

const CRONER = "croner";
const WANTED = '5 fields "minute hour day month weekday" such as "30 2 * * 1-5", or 6 with seconds in front';

let loaded: Promise<typeof import("croner")> | undefined;

/** Once for all hosts: a test clock does not wait for files. After a failure it is tried again. */
function croner(): Promise<typeof import("croner")> {
  loaded ??= import("croner").catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

/**
 * @internal Loads croner.
 *
 * @throws PackageMissingError
 */
export async function loadCron(load: () => Promise<typeof import("croner")> = croner): Promise<CronParser> {
  const { Cron } = await load().catch((error: unknown) => {
    throw new PackageMissingError(CRONER, "^11.0.0", "cron expressions in schedules", error);
  });
  return (schedule, expression, timeZone) => {
    checkZone(schedule, timeZone);
    return recurrenceOf(schedule, expression, () => parsed(Cron, schedule, expression, timeZone as string));
  };
}

/**
 * @internal Loads croner when it is asked for the first time. Where hooks look for modules, even a module that is there takes turns of the
 * host's event loop, and a schedule that is due under a test clock would wait for them.
 */
export function cronLoader(load?: () => Promise<typeof import("croner")>): () => Promise<CronParser> {
  let parser: Promise<CronParser> | undefined;
  return () => {
    parser ??= loadCron(load).catch((error: unknown) => {
      parser = undefined;
      throw error;
    });
    return parser;
  };
}

function parsed(Parser: typeof Cron, schedule: string, expression: unknown, timezone: string): Cron {
  if (typeof expression !== "string") throw new ScheduleError(schedule, "cron", expression, WANTED);
  try {
    const options = { timezone, paused: true, fixedTimeRule: "no-wildcard" } as const;
    return new Parser(expression, options);
  } catch (error) {
    throw new ScheduleError(schedule, "cron", expression, WANTED, error);
  }
}

function recurrenceOf(schedule: string, expression: unknown, parse: () => Cron): Recurrence {
  const cron = parse();
  // Croner waits for no time of its own here: it only computes the time after a given one.
  const next = (after: number): number | undefined => cron.nextRun(dateOf(after))?.getTime();
  if (next(0) === undefined)
    throw new ScheduleError(
      schedule,
      "cron",
      expression,
      "an expression that matches some day of the calendar",
    );
  return { next };
}

/** @throws ScheduleError */
export function checkZone(schedule: string, timeZone: unknown): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone: timeZone as string });
    if (typeof timeZone === "string") return;
  } catch {
    // Refused below, like a value that is not a text.
  }
  throw new ScheduleError(
    schedule,
    "timeZone",
    timeZone,
    'a name of the IANA database, such as "Europe/Berlin" or "UTC"',
  );
}
