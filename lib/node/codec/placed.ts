// Objects that are plain but for pids among their members, or the reply address of their own call: `{ take: 3, replyTo }`, as most messages
// of calls are, and `{ from: ctx.self, take: 3 }`. They travel as plain JSON with null in these places, and a list of the places behind it.

/** The number of this form of a value. */
export const PLACED = 3;

/** Stands in the list for the reply address of the call itself. */
export const OWN_REPLY = "";

/** What is plain of an object, and the members that are not: a key, and the word for what is there. */
export interface Placed {
  readonly plain: object;
  readonly places: readonly string[];
}

/** JSON makes a member of this name, and an assignment would not. */
const PROTO = "__proto__";

/**
 * Undefined for an object without such members, and for one that a copy would change.
 *
 * @param wordOf - the word for a member; undefined when it is to stay
 */
export function placed(object: object, wordOf: (member: object) => string | undefined): Placed | undefined {
  if (Object.getPrototypeOf(object) !== Object.prototype) return undefined;
  const keys = Object.keys(object);
  let plain: Record<string, unknown> | undefined;
  const places: string[] = [];
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    const member = (object as Record<string, unknown>)[key];
    if (typeof member !== "object" || member === null) continue;
    const word = wordOf(member);
    if (word === undefined) continue;
    if (key === PROTO || Object.getOwnPropertySymbols(object).length > 0) return undefined;
    plain ??= { ...object };
    plain[key] = null;
    places.push(key, word);
  }
  return plain && { plain, places };
}

/** Puts into an object what belongs into its places. @throws TypeError when it has no such place */
export function fill(object: unknown, places: unknown, revive: (word: unknown) => object): unknown {
  const isObject = typeof object === "object" && object !== null && !Array.isArray(object);
  if (!isObject || !Array.isArray(places) || places.length === 0 || places.length % 2 !== 0)
    throw new TypeError("an object without the places for its members");
  for (let i = 0; i < places.length; i += 2) {
    const key: unknown = places[i];
    if (typeof key !== "string" || key === PROTO || !Object.hasOwn(object, key))
      throw new TypeError("a place that an object has not");
    (object as Record<string, unknown>)[key] = revive(places[i + 1]);
  }
  return object;
}
