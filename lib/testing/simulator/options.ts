// Checks of the simulator's options, besides those of the process floor. A misspelled option is an error, since nothing else
// would reveal it.

import { OptionError } from "../../process/errors.js";
import { count, delay } from "../../process/options.js";

/** Requires an object that has only the known options. @throws OptionError */
export function only(path: string, given: object, known: readonly string[]): void {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new OptionError(path, given, `an object of ${known.join(", ")}`);
  for (const [name, value] of Object.entries(given))
    if (!known.includes(name))
      throw new OptionError(`${path}.${name}`, value, `absent: there is only ${known.join(", ")}`);
}

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

/** Requires a boolean. @throws OptionError */
export function flag(path: string, given: unknown): boolean {
  if (typeof given === "boolean") return given;
  throw new OptionError(path, given, "true or false");
}

/** Requires a list of texts; empty by default. @throws OptionError */
export function words(path: string, given: unknown = []): readonly string[] {
  if (Array.isArray(given)) return given;
  throw new OptionError(path, given, "a list of texts");
}
