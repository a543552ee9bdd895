// Selects processes by their path in the tree.

import { OptionError } from "../../process/errors.js";

/**
 * Selects processes by path: a pattern, a regular expression or a function. In a pattern, `*` matches any part of one name and
 * `**` any number of names. `shop/floor/*` matches the children of `shop/floor`; `**\/picker*` matches pickers anywhere.
 *
 * A name without a number stands for a process and all that follow it under the same name: `shop/till` matches `shop/till#2`,
 * the restarted till, too. `shop/till#2` matches only that one.
 */
export type ProcessPattern = string | RegExp | ((path: string) => boolean);

/** @throws OptionError for any other value */
export function patternMatcher(
  path: string,
  match: ProcessPattern | readonly ProcessPattern[],
): (path: string) => boolean {
  if (Array.isArray(match)) {
    const all = match.map((one, index) => patternMatcher(`${path}[${index}]`, one));
    return (text) => all.some((one) => one(text));
  }
  if (typeof match === "function") return match as (path: string) => boolean;
  if (match instanceof RegExp) {
    // With the flags g and y a regular expression has a position, and would match the same path only every other time.
    const steady = new RegExp(match.source, match.flags.replace(/[gy]/g, ""));
    return (text) => steady.test(text);
  }
  if (typeof match !== "string" || match === "")
    throw new OptionError(
      path,
      match,
      "a pattern such as `shop/picker*`, a regular expression or a function",
    );
  const source = match.replace(/\*\*\/|\/|[^/]+/g, (part) =>
    part === "**/" ? "(?:.*/)?" : part === "/" ? part : nameSource(part),
  );
  const pattern = new RegExp(`^${source}$`);
  return (text) => pattern.test(text);
}

/** The regular expression of one name. */
function nameSource(name: string): string {
  const source = name
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replace(/\*+/g, (stars) => (stars.length > 1 ? ".*" : "[^/]*"));
  return name.includes("#") ? source : `${source}(?:#\\d+)?`;
}
