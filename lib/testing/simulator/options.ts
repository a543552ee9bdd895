// Checks of the simulator's options, besides those of the process floor.

import { OptionError } from "../../process/errors.js";
import { count, delay } from "../../process/options.js";
import type { ProcessPattern } from "./process-pattern.js";

/** Reads `atMost`, the budget in one schedule. @throws OptionError */
export function times(path: string, given: { readonly atMost?: number }): number {
  return count(`${path}.atMost`, given.atMost ?? 1, 1, true);
}

/** Requires a list of virtual milliseconds. @throws OptionError */
export function durations(path: string, given: readonly number[]): readonly number[] {
  if (!Array.isArray(given) || given.length === 0)
    throw new OptionError(path, given, "a list of milliseconds, at least one");
  return given.map((ms, index) => delay(`${path}[${index}]`, ms));
}

/** Requires a list of texts; empty by default. @throws OptionError */
export function words(path: string, given: unknown = []): readonly string[] {
  if (Array.isArray(given)) return given;
  throw new OptionError(path, given, "a list of texts");
}

/** Where a rule stands in the options, with its pattern: for errors. */
export function ruleText(
  path: string,
  { of }: { readonly of: ProcessPattern | readonly ProcessPattern[] },
): string {
  const patterns: readonly ProcessPattern[] = Array.isArray(of) ? of : [of as ProcessPattern];
  return `${path} of ${patterns.map((one) => (typeof one === "function" ? "a function" : String(one))).join(", ")}`;
}

/** A value or a list of values, as a list; empty for undefined. */
export function oneOrMany<T>(given: T | readonly T[] | undefined): readonly T[] {
  return given === undefined ? [] : Array.isArray(given) ? given : [given as T];
}
