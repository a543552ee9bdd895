// Names of steps, topics and protocols, and ids of flows: texts that every store keeps as they are, in its indexes too.

import { OptionError } from "../../process/errors.js";

/** Most characters of a name, a topic or an id: as notifications of a store carry them, with a prefix. */
export const NAME_LENGTH = 450;

const ALLOWED = `a text of 1 to ${NAME_LENGTH} characters, without NUL and without lone surrogates`;

/** A name, a topic or an id. @throws OptionError */
export function named(path: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && value.length <= NAME_LENGTH && isStorable(value))
    return value;
  throw new OptionError(path, value, ALLOWED);
}

const isStorable = (text: string): boolean =>
  !text.includes("\0") && (text as string & { isWellFormed(): boolean }).isWellFormed();

/** Checks a function that a flow calls. @throws OptionError */
export function callable<T>(path: string, value: T): T {
  if (typeof value === "function") return value;
  throw new OptionError(path, value, "a function");
}

const COUNTED = /#\d+$/;

/**
 * The key of the n-th use of a name, 1 for the first. No other name has the same one: a name that looks like a counted one is counted
 * from its first use.
 */
export function countedKey(name: string, n: number): string {
  if (n > 1) return `${name}#${n}`;
  return name.includes("#") && COUNTED.test(name) ? `${name}#1` : name;
}

const RESERVED = /[%/@]/g;

/**
 * A key as a part of ids outside of the journal: other keys, and the same key after `continueAsNew`, have other ones.
 *
 * @param generation - how often the flow was started anew
 */
export function outsideKey(key: string, generation: number): string {
  const plain = key.replace(RESERVED, encodeURIComponent);
  return generation === 0 ? plain : `${plain}@${generation}`;
}
