// Checks of what the simulator is told, beyond those that the library has: a misspelled option is a mistake that nothing
// else would tell of.

import { OptionError } from "../../process/errors.js";
import { count, delay } from "../../process/options.js";

/** Refuses what is no object of some of these options. @throws OptionError */
export function only(path: string, given: object, known: readonly string[]): void {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new OptionError(path, given, `an object of ${known.join(", ")}`);
  for (const [name, value] of Object.entries(given))
    if (!known.includes(name))
      throw new OptionError(`${path}.${name}`, value, `absent: there is only ${known.join(", ")}`);
}

/** How often something may happen in one schedule. @throws OptionError */
export function times(path: string, given: { readonly atMost?: number }): number {
  return count(`${path}.atMost`, given.atMost ?? 1, 1, true);
}

/** Virtual milliseconds to choose from. @throws OptionError */
export function durations(path: string, given: readonly number[]): readonly number[] {
  if (!Array.isArray(given) || given.length === 0)
    throw new OptionError(path, given, "a list of milliseconds, at least one");
  return given.map((ms, index) => delay(`${path}[${index}]`, ms));
}

/** True or false. @throws OptionError */
export function flag(path: string, given: unknown): boolean {
  if (typeof given === "boolean") return given;
  throw new OptionError(path, given, "true or false");
}

/** A list of texts; none unless given. @throws OptionError */
export function words(path: string, given: unknown = []): readonly string[] {
  if (Array.isArray(given)) return given;
  throw new OptionError(path, given, "a list of texts");
}
