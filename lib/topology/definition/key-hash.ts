// The key of a tuple: a hash of some of its fields.

import { hash, mix } from "../../process/stable-hash.js";

/**
 * Makes a function that hashes the values of these fields. Values are hashed one by one and not concatenated, so that
 * "a", "bc" is another key than "ab", "c".
 */
export function keyHash<K extends string>(
  names: readonly K[],
): (values: Readonly<Record<K, unknown>>) => number {
  const only = names[0];
  if (names.length === 1 && only !== undefined) return (values) => hashOf(values[only]);
  return (values) => {
    let h = 0;
    for (const name of names) h = mix(Math.imul(h, 0x9e3779b1) ^ hashOf(values[name]));
    return h;
  };
}

// Seeds keep the types apart: the number 1 is not the text "1", and an object is not the text of its JSON.
const NUMBER = hash("number");
const OBJECT = hash("object");

function hashOf(value: unknown): number {
  if (typeof value === "string") return hash(value);
  if (typeof value === "number")
    return (value | 0) === value ? mix(value ^ NUMBER) : hash(String(value), NUMBER);
  if (typeof value === "object") return hash(JSON.stringify(value) ?? "", OBJECT);
  return hash(String(value), hash(typeof value));
}
