// Checks of the simulator's options, besides those of the process floor. A misspelled option is an error, since nothing else
// would reveal it.

import { OptionError } from "../../process/errors.js";
import { count, delay } from "../../process/options.js";

/**
 * Requires an object that has only the known options.
 *
 * @param path - of the object; empty for the options themselves
 * @throws OptionError
 */
export function only(path: string, given: object, known: readonly string[]): void {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new OptionError(path || "options", given, `an object of ${known.join(", ")}`);
  for (const [name, value] of Object.entries(given)) {
    if (known.includes(name)) continue;
    const alike = known.filter((one) => distance(one, name) <= TYPOS);
    const hint =
      alike.length > 0 ? `did you mean ${alike.join(" or ")}?` : `there is only ${known.join(", ")}`;
    throw new OptionError(path === "" ? name : `${path}.${name}`, value, `absent: ${hint}`);
  }
}

/** Most letters by which a misspelled name differs from the one that was meant. */
const TYPOS = 2;

/** Letters to insert, remove or replace to make one word of the other, regardless of case. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, a] of [...one.toLowerCase()].entries()) {
    const next = [i + 1];
    for (const [j, b] of [...other.toLowerCase()].entries())
      next.push(
        Math.min((next[j] as number) + 1, (row[j + 1] as number) + 1, (row[j] as number) + (a === b ? 0 : 1)),
      );
    row = next;
  }
  return row[other.length] as number;
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
