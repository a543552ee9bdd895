// Which processes a rule is about: by their path in the tree.

import { OptionError } from "../../process/errors.js";

/**
 * Processes by path: a pattern in which `*` stands for any part of one name and `**` for any names, a regular
 * expression, or a function. `shop/floor/*` are the children of `shop/floor`; `**\/picker*` are pickers anywhere.
 */
export type ProcessPattern = string | RegExp | ((path: string) => boolean);

/** @throws OptionError when it is none of these */
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
    // With these two flags a pattern remembers where it was: the same path would match every other time.
    const steady = new RegExp(match.source, match.flags.replace(/[gy]/g, ""));
    return (text) => steady.test(text);
  }
  if (typeof match !== "string" || match === "")
    throw new OptionError(
      path,
      match,
      "a pattern such as `shop/picker*`, a regular expression or a function",
    );
  const source = match
    .replace(/[.+?^${}()|[\]\\]/g, "\\$&")
    .replace(/\*\*\/?|\*/g, (star) => (star === "*" ? "[^/]*" : star === "**" ? ".*" : "(?:.*/)?"));
  const pattern = new RegExp(`^${source}$`);
  return (text) => pattern.test(text);
}
