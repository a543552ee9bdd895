// Drops messages whose key was seen before. The key is written in the commit that settles the message, so a message that fails, and a
// crash, leave behind no key of a message that was not settled.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { callable } from "../../process/options.js";
import type { Adapter } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";

/** Options of {@link deduplicate}. */
export interface DeduplicateOptions<T> {
  /** The key that messages with the same contents share. Default: the key of the message. */
  readonly key?: (value: T) => string;
}

/**
 * Lets the first message with a key pass, and ends all later ones of the execution. The first is one that is settled: if it becomes a
 * dead letter, the next one passes. A message without a key is an error.
 *
 * It promises only that one message of a key is settled. The next adapter of the same route may be called more often: again in each
 * attempt at that message, and over several hosts for a second message of the key, whose step is then refused. So give an adapter with an
 * effect a route of its own: `.via(deduplicate("once")).to(others)`. The route that takes from `others` gets one message of each key.
 *
 * @throws OptionError
 * @example const once = deduplicate<{ readonly id: string }>("once", { key: ({ id }) => id });
 */
export function deduplicate<T>(name: string, options: DeduplicateOptions<T> = {}): Adapter<T, T> {
  checkName("name", name);
  only("", options, ["key"]);
  const { key } = options;
  if (key !== undefined) callable("key", key);
  return {
    name,
    async process(value, ctx) {
      const found: unknown = key === undefined ? ctx.key : key(value);
      if (typeof found !== "string")
        return ctx.giveUp(
          `${name}: the message has no key that is a text`,
          new OptionError("key", found, "a text"),
        );
      if ((await ctx.recall(found)) !== undefined) return undefined;
      ctx.remember(found, 1);
      return value;
    },
  };
}
