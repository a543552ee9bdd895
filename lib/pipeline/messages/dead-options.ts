// The options of acts on dead letters: the choice of letters, the author and the reason. The same for pipelines and for durable queues.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import { processName } from "../../process/process-name.js";
import { DEAD_LIMITS } from "./limits.js";

/** Author and reason of an act on messages: the records of the messages say it. */
export interface DeedOptions {
  /** Who, for people. Default: the process, such as `process 4711 on shop-2`. */
  readonly by?: string;
  /** Why, for people. At most 1,000 characters. */
  readonly reason?: string;
}

/** Options of a drop, which always has a reason. */
export interface DropOptions extends DeedOptions {
  readonly reason: string;
}

/** Which dead letters are meant. All that is given must hold. */
export interface LetterFilter {
  /** Those whose last error contains this text. */
  readonly error?: string;
  /** Those that were given up before this time, in milliseconds since 1970. */
  readonly before?: number;
  /** Most of them, 1 to 10,000. Default 1,000. */
  readonly limit?: number;
  /** `next` of the answer before: goes on behind it. */
  readonly cursor?: string;
}

/** The result of an act on dead letters. */
export interface DeedResult {
  /** How many. Letters that another caller changed at the same time are not counted. */
  readonly letters: number;
  /** There may be further ones: gives them as `cursor`. Absent: all were looked at. */
  readonly next?: string;
}

/** Author and reason, checked. */
export interface Deed {
  readonly by: string;
  readonly reason: string | null;
}

/** The place of a dead letter. */
export interface LetterPlace {
  readonly queue: string;
  readonly id: string;
}

/** A filter, checked. */
export interface CheckedFilter {
  readonly error: string | undefined;
  readonly before: number;
  readonly limit: number;
  readonly behind: LetterPlace | undefined;
}

/** Which letters are meant, checked. */
export type Chosen =
  | { readonly type: "ids"; readonly ids: readonly string[] }
  | { readonly type: "filter"; readonly filter: CheckedFilter };

const DEED = ["by", "reason"];
const FILTER = ["error", "before", "limit", "cursor"];

/** @param more - names of options that stand beside these @throws OptionError */
export function checkDeed(options: DeedOptions, more: readonly string[] = []): Deed {
  only("", options, [...DEED, ...more]);
  const { by = processName(), reason } = options;
  return { by: brief("by", by), reason: reason === undefined ? null : brief("reason", reason) };
}

/** @throws OptionError when there is no reason */
export function checkDrop(options: DeedOptions): Deed & { readonly reason: string } {
  const { by, reason } = checkDeed(options ?? {});
  if (reason !== null) return { by, reason };
  throw new OptionError("reason", undefined, "a text that says why the messages are given up");
}

/**
 * @param checkId - checks an id, given its path
 * @param more - names of options that stand beside those of the filter
 * @throws OptionError
 */
export function checkChosen(
  which: string | readonly string[] | LetterFilter,
  checkId: (path: string, id: unknown) => string,
  more: readonly string[] = [],
): Chosen {
  if (typeof which === "string") return { type: "ids", ids: [checkId("which", which)] };
  if (!Array.isArray(which)) return { type: "filter", filter: checkFilter(which as LetterFilter, more) };
  const { ids: most } = DEAD_LIMITS;
  if (which.length === 0 || which.length > most)
    throw new OptionError("which", which, `an id, a list of 1 to ${most} ids, or a filter`);
  return { type: "ids", ids: [...new Set(which.map((id, i) => checkId(`which[${i}]`, id)))] };
}

function checkFilter(filter: LetterFilter, more: readonly string[]): CheckedFilter {
  only("which", filter, [...FILTER, ...more]);
  const { error, before = Number.POSITIVE_INFINITY, limit = DEAD_LIMITS.letters, cursor } = filter;
  if (error !== undefined) text("which.error", error);
  if (typeof before !== "number" || Number.isNaN(before))
    throw new OptionError("which.before", before, "milliseconds since 1970");
  if (count("which.limit", limit, 1) > DEAD_LIMITS.most)
    throw new OptionError("which.limit", limit, `at most ${DEAD_LIMITS.most}; go on with \`cursor\``);
  return { error, before, limit, behind: cursor === undefined ? undefined : placeOf(cursor) };
}

/** Names a place among dead letters, for people. */
export function cursorOf({ queue, id }: LetterPlace): string {
  return JSON.stringify([queue, id]);
}

/** @throws OptionError */
function placeOf(cursor: unknown): LetterPlace {
  try {
    const [queue, id] = JSON.parse(text("which.cursor", cursor)) as readonly unknown[];
    if (typeof queue === "string" && typeof id === "string") return { queue, id };
  } catch {
    // Said below.
  }
  throw new OptionError("which.cursor", cursor, "the `next` of an answer about the same letters");
}

/** @throws OptionError */
function brief(path: string, given: unknown): string {
  const most = DEAD_LIMITS.textCharacters;
  if (typeof given === "string" && given !== "" && given.length <= most && !given.includes("\0"))
    return given;
  throw new OptionError(path, given, `a text of 1 to ${most} characters`);
}
