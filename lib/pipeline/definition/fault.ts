// Faults of a pipeline's definition: where each is, what was found there, and what is allowed. A definition in TypeScript and one in
// YAML report the same faults; YAML adds lines and columns.

import { alike } from "../../process/known-options.js";

/** A place in a definition: the names and indexes that lead to it. */
export type Keys = readonly (string | number)[];

/** One thing that is wrong with the definition of a pipeline. */
export interface Fault {
  /** Where it is, such as `routes[0].to[1]`. Empty: the definition as a whole. */
  readonly path: string;
  /** The value that is there, as a short text. */
  readonly found: string;
  /** The values that are allowed. */
  readonly allowed: string;
  /** A name that was probably meant, if one is similar. */
  readonly suggestion: string | undefined;
}

/** A fault with its place as data. */
export interface KeyedFault extends Fault {
  readonly keys: Keys;
  /** The fault is about the name at the end of `keys`, rather than about the value there. */
  readonly ofName: boolean;
}

/** Makes a fault. */
export function faultAt(
  keys: Keys,
  allowed: string,
  found: string,
  suggestion?: string,
  ofName = false,
): KeyedFault {
  return { keys, path: pathText(keys), found, allowed, suggestion, ofName };
}

const PLAIN = /^[A-Za-z_$][\w$-]*$/;

/** Keys as a path. Names that are no identifiers are quoted. */
export function pathText(keys: Keys): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === "number") return `${path}[${key}]`;
    if (!PLAIN.test(key)) return `${path}[${JSON.stringify(shortened(key))}]`;
    return path === "" ? key : `${path}.${key}`;
  }, "");
}

/** A fault as a sentence. */
export function faultText({ path, found, allowed, suggestion }: Fault): string {
  const meant = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  return `${path || "the definition"} must be ${allowed}; found ${found}${meant}`;
}

/** Names that are longer than this are no misspelling of a name. */
const LONGEST_NAME = 64;
/** One letter of such a short name is half of it. */
const SHORTEST_NAME = 3;

/** The known names that a name was probably meant to be, as a text; undefined if none is similar. */
export function suggestionFor(known: Iterable<string>, name: unknown): string | undefined {
  if (typeof name !== "string" || name.length > LONGEST_NAME || name.length < SHORTEST_NAME) return undefined;
  const meant = alike([...known], name).filter((one) => one.length >= SHORTEST_NAME && one !== name);
  return meant.length === 0 ? undefined : meant.join(" or ");
}

/** Most characters of a name in a text. */
const SHOWN = 80;

/** A text that is not longer than a line. */
export function shortened(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 1)}…`;
}
