// The values of options: moments, lengths of time, numbers, JSON, and words of a list.

import { duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { Misuse, type Moments } from "./arguments.js";

/** An option with a text, and how it is read. */
export interface ReadOption<T> {
  readonly value: string;
  readonly help: string;
  read(text: string, option: string, clock: Moments): T;
}

/** A whole number. */
export function whole(value: string, least: number, help: string): ReadOption<number> {
  const read = (text: string, option: string): number => {
    const number = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(number) && number >= least) return number;
    throw new Misuse(`--${option} must be a whole number, ${least} or more; got ${JSON.stringify(text)}`);
  };
  return { value, help, read };
}

/** Most items of a list. */
export const most = (help: string): ReadOption<number> => whole("COUNT", 1, help);

/** Milliseconds of a length of time: `2 days`, or `2days`. */
export function length(help: string): ReadOption<number> {
  return { value: "LENGTH", help, read: lengthGiven };
}

function lengthGiven(text: string, option: string): number {
  try {
    return duration(option, text.trim().replace(/(\d)([a-z])/g, "$1 $2"));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new Misuse(
      `--${option} must be a length of time such as "30 days" or 90min; got ${JSON.stringify(text)}`,
    );
  }
}

/** Milliseconds since 1970: a date, or a length of time that counts back from now. */
export function moment(help: string): ReadOption<number> {
  const read = (text: string, option: string, clock: Moments): number => {
    const found = clock.moment(text);
    if (found !== undefined) return found;
    try {
      return clock.now() - lengthGiven(text, option);
    } catch (error) {
      if (!(error instanceof Misuse)) throw error;
      throw new Misuse(
        `--${option} must be a moment such as 2026-11-22T18:00Z, or how long ago, such as "2 hours"; got ${JSON.stringify(text)}`,
      );
    }
  };
  return { value: "WHEN", help, read };
}

/** One of some words, such as the statuses of flows. */
export function among<T extends string>(value: string, known: readonly T[], help: string): ReadOption<T> {
  const read = (text: string, option: string): T => {
    const found = known.find((one) => one === text);
    if (found !== undefined) return found;
    throw new Misuse(`--${option} must be one of ${known.join(", ")}; got ${JSON.stringify(text)}`);
  };
  return { value, help, read };
}

/** Only the items with some of these statuses. */
export function statuses<T extends string>(known: readonly T[]): ReadOption<T> & { readonly many: true } {
  const help = `only this status, may be repeated: ${known.join(", ")}`;
  return { ...among("STATUS", known, help), many: true };
}

/** A value as JSON. */
export function json(help: string): ReadOption<unknown> {
  return { value: "JSON", help, read: (text, option) => jsonGiven(`--${option}`, text) };
}

/** Undefined: there is no text. @throws Misuse */
export function jsonGiven(what: string, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Misuse(`${what} must be JSON; got ${text.slice(0, 80)}. A text has quotes of its own: '"yes"'`);
  }
}
