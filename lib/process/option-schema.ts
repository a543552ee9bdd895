// Options by a schema: one table of checks names the options and says what each may be, and a table of defaults completes them.

import { OptionError } from "./errors.js";
import { only } from "./known-options.js";
import { callable, count, delay, oneOf } from "./options.js";

/** Says what an option may be: returns the value, or throws an OptionError with the path. */
export type Check<T> = (path: string, value: unknown) => T;

/** A check for each option. */
export type Checks = Readonly<Record<string, Check<unknown>>>;

/** The options that fit some checks. */
export type Checked<C extends Checks> = { readonly [K in keyof C]: ReturnType<C[K]> };

/**
 * Checks options, and fills in defaults. Unknown names are refused.
 *
 * @param path - of the options; empty for those that a user gives at the top
 * @param defaults - options without a default are required, unless their check is {@link maybe}
 * @throws OptionError
 */
export function checked<C extends Checks>(
  path: string,
  given: object,
  checks: C,
  defaults: Partial<Checked<C>> = {},
): Checked<C> {
  only(path, given, Object.keys(checks));
  const values: Record<string, unknown> = {};
  for (const [name, check] of Object.entries(checks)) {
    const { [name]: value = defaults[name] } = given as Record<string, unknown>;
    values[name] = check(pathTo(path, name), value);
  }
  return values as Checked<C>;
}

/** Checks the options that are given, and leaves out those that are undefined. @throws OptionError */
export function checkedPart<C extends Checks>(path: string, given: object, checks: C): Partial<Checked<C>> {
  only(path, given, Object.keys(checks));
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) values[name] = checks[name]?.(pathTo(path, name), value);
  return values as Partial<Checked<C>>;
}

function pathTo(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** An option that may be left out. */
export function maybe<T>(check: Check<T>): Check<T | undefined> {
  return (path, value) => (value === undefined ? undefined : check(path, value));
}

/** A whole number. */
export function whole(least: number, most?: number): Check<number> {
  return (path, value) => {
    const found = count(path, value, least, most === Number.POSITIVE_INFINITY);
    if (most === undefined || found <= most) return found;
    throw new OptionError(path, value, `a whole number from ${least} to ${most}`);
  };
}

/** A number of milliseconds. */
export function ms(least: number, most?: typeof Number.POSITIVE_INFINITY): Check<number> {
  return (path, value) => delay(path, value, least, most !== undefined);
}

/** One of a few words. */
export function among<const T extends string>(...words: readonly T[]): Check<T> {
  return (path, value) => oneOf(path, value, words);
}

/** A function. */
export function fn<F>(allowed?: string): Check<F> {
  return (path, value) => callable(path, value as F, allowed);
}

/** An AbortSignal. */
export const abortSignal: Check<AbortSignal> = (path, value) => {
  if (value instanceof AbortSignal) return value;
  throw new OptionError(path, value, "an AbortSignal");
};

/** An option that is checked elsewhere. */
export function asGiven<T>(): Check<T> {
  return (_path, value) => value as T;
}

/** A share of a whole. */
export const share: Check<number> = (path, value) => {
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw new OptionError(path, value, "a number from 0 to 1");
};
