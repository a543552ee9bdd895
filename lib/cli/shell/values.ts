// The values of options: moments, lengths of time, numbers and JSON.

import { duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { Misuse } from "./arguments.js";

/** The clock of the host, and how it reads moments. */
export interface Moments {
  /** Milliseconds since 1970. */
  now(): number;
  /** Reads a moment such as `2026-11-22` or `2026-11-22T18:00Z`; undefined when it is none. */
  moment(text: string): number | undefined;
}

/** Milliseconds of a length of time: `2 days`, or `2days`. @throws Misuse */
export function lengthGiven(option: string, text: string): number {
  try {
    return duration(option, text.trim().replace(/(\d)([a-z])/g, "$1 $2"));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new Misuse(
      `--${option} must be a length of time such as "30 days" or 90min; got ${JSON.stringify(text)}`,
    );
  }
}

/** Milliseconds since 1970: a date, or a length of time that counts back from now. @throws Misuse */
export function momentGiven(option: string, text: string, host: Moments): number {
  const moment = host.moment(text);
  if (moment !== undefined) return moment;
  try {
    return host.now() - lengthGiven(option, text);
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    throw new Misuse(
      `--${option} must be a moment such as 2026-11-22T18:00Z, or how long ago, such as "2 hours"; got ${JSON.stringify(text)}`,
    );
  }
}

/** A whole number. @throws Misuse */
export function numberGiven(option: string, text: string, least: number): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(number) && number >= least) return number;
  throw new Misuse(`--${option} must be a whole number, ${least} or more; got ${JSON.stringify(text)}`);
}

/** A value as JSON. @throws Misuse */
export function jsonGiven(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Misuse(`${what} must be JSON; got ${text.slice(0, 80)}. A text has quotes of its own: '"yes"'`);
  }
}
