// A text for a value: equal texts mean equal values. Used to tell states apart and to compare results.

import { SignalboxError } from "../../process/errors.js";
import { brief } from "./brief.js";

/**
 * A value cannot be written as text without loss, such as an instance of a class.
 *
 * @remedy Use plain data in operations and states that a history or model holds.
 */
export class NoTextError extends SignalboxError {
  static override readonly name: string = "NoTextError";
  readonly code = "ERR_NO_TEXT";
  constructor(value: unknown, why: string) {
    super(
      `${brief(value)} ${why}; only primitive values, plain objects, arrays, Maps and Sets of these can be told apart`,
    );
  }
}

/**
 * The text of a value. For a plain object the text does not depend on the order of its keys. With `exact`, two values have the
 * same text only if no code could distinguish them by their contents: the order of a Map or Set counts (an LRU cache relies
 * on it), and so does the sign of zero. Without `exact`, neither counts.
 *
 * @throws NoTextError for values with hidden parts: instances of classes, functions, symbols, cycles
 */
export function structuralText(value: unknown, exact: boolean): string {
  return write(value, exact, 0);
}

/** Deepest nesting that is written; a cycle is deeper. */
const DEEPEST = 500;

function write(value: unknown, exact: boolean, depth: number): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return exact && Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      return `${value}n`;
    case "symbol":
    case "function":
      throw new NoTextError(value, "has no contents to compare");
    case "object":
      return value === null ? "null" : writeObject(value, exact, depth + 1);
    default:
      return String(value);
  }
}

function writeObject(value: object, exact: boolean, depth: number): string {
  if (depth > DEEPEST)
    throw new NoTextError(value, `contains itself, or nests more than ${DEEPEST} levels deep`);
  const part = (one: unknown): string => write(one, exact, depth);
  const list = (parts: string[]): string => (exact ? parts : parts.sort()).join(", ");

  if (Array.isArray(value)) return writeArray(value, part);
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === Map.prototype) {
    const entries = [...(value as Map<unknown, unknown>)];
    return `Map {${list(entries.map(([key, one]) => `${part(key)} => ${part(one)}`))}}`;
  }
  if (prototype === Set.prototype) return `Set {${list([...(value as Set<unknown>)].map(part))}}`;
  // In every realm, the prototype of plain objects is the one without a prototype.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new NoTextError(value, "is an instance of a class, whose private parts do not show");
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw new NoTextError(value, "has symbols as keys");
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${word(key)}: ${part((value as Record<string, unknown>)[key])}`).join(", ")}}`;
}

function writeArray(value: readonly unknown[], part: (one: unknown) => string): string {
  let plain = true;
  for (let at = 0; at < value.length; at++) {
    const one = value[at];
    if (one === undefined && !(at in value)) throw new NoTextError(value, "has holes");
    plain &&= typeof one === "string" || (Number.isInteger(one) && !Object.is(one, -0));
  }
  // JSON.stringify is several times faster, and models mostly consist of queues of plain items.
  return plain ? JSON.stringify(value) : `[${value.map(part).join(",")}]`;
}

function word(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
