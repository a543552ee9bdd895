// The options that all worker threads have: the file that they load, and the limits on their memory.

import { OptionError } from "./errors.js";
import { only } from "./known-options.js";
import { text } from "./options.js";
import type { ThreadLimits } from "./thread.js";

const THREAD_LIMITS = ["maxOldGenerationSizeMb", "maxYoungGenerationSizeMb", "stackSizeMb"] as const;

/** The URL of the file that a thread loads. @throws OptionError */
export function moduleUrl(path: string, file: unknown): string {
  const url = file instanceof URL ? file.href : text(path, file);
  if (/^(file|data|node):/.test(url)) return url;
  throw new OptionError(path, url, "the URL of a module (file: or data:)");
}

/** @throws OptionError */
export function megabytes(path: string, value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  throw new OptionError(path, value, "a number of megabytes, more than 0");
}

/** Limits on the memory of a thread. @throws OptionError */
export function threadLimits(path: string, given: unknown): ThreadLimits {
  only(path, given as object, THREAD_LIMITS);
  for (const [name, value] of Object.entries(given as object)) megabytes(`${path}.${name}`, value);
  return given as ThreadLimits;
}
