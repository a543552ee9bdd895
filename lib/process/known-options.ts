// Objects of options have known names only: nothing else would reveal a misspelled one.

import { OptionError } from "./errors.js";

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
    const meant = alike(known, name);
    const hint =
      meant.length > 0 ? `did you mean ${meant.join(" or ")}?` : `there is only ${known.join(", ")}`;
    throw new OptionError(path === "" ? name : `${path}.${name}`, value, `absent: ${hint}`);
  }
}

/** Most letters by which a misspelled name differs from the one that was meant. */
const TYPOS = 2;

/** The known names from which a misspelled one differs by a few letters, or which begin with it; among these, the closest. */
export function alike(known: readonly string[], name: string): string[] {
  // A name without its unit may be misspelled too.
  const far = (one: string): number => Math.min(distance(one, name), distance(one.replace(/Ms$/, ""), name));
  const least = Math.min(...known.map(far));
  return known.filter((one) => (least <= TYPOS ? far(one) === least : isBeginning(name, one)));
}

const SHORTEST_BEGINNING = 3;

function isBeginning(name: string, of: string): boolean {
  return name.length >= SHORTEST_BEGINNING && of.toLowerCase().startsWith(name.toLowerCase());
}

/**
 * The same as {@link only} where every call passes: options that are absent cost nothing, and known ones a look each.
 *
 * @throws OptionError
 */
export function onlyKnown(given: object | undefined, known: ReadonlySet<string>): void {
  if (given === undefined) return;
  if (typeof given !== "object" || given === null || Array.isArray(given)) only("", given, [...known]);
  for (const name in given) if (!known.has(name)) only("", given, [...known]);
}

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
