// Errors as loggers get them: a logger writes all of an error, and any code can throw one of a hundred megabytes.

import { printable } from "./printable.js";
import { cut, framesOf, isError, MESSAGE_LENGTH, show, showError } from "./show.js";

/** Most levels of values in an error that are logged, and most values in all. */
const DEPTH = 4;
const VALUES = 200;
/** Most characters of the strings in an error that are logged. */
const CHARACTERS = 20_000;

/**
 * What was thrown, within bounds and without control characters. An Error stays an Error of its class, with its message, the
 * frames that are the user's, its other own members, and the errors in it. Never throws, and calls no getter but those of
 * `name`, `message` and `stack`.
 */
export function loggedError(thrown: unknown): unknown {
  let left = VALUES;
  let room = CHARACTERS;
  const logged = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      const text = printable(cut(value, Math.min(MESSAGE_LENGTH, room)));
      room -= Math.min(text.length, room);
      return text;
    }
    if (typeof value === "number" || typeof value === "boolean" || value === undefined || value === null)
      return value;
    if (isError(value) && depth < DEPTH)
      return loggedAs(Object.create(Object.getPrototypeOf(value)), value, depth);
    if (depth === DEPTH || !isPlain(value)) return printable(show(value));
    return loggedAs(Array.isArray(value) ? [] : {}, value, depth);
  };
  const loggedAs = (copy: object, value: object, depth: number): object => {
    const define = (key: string, member: unknown, enumerable = false): void => {
      Object.defineProperty(copy, key, { value: member, enumerable, writable: true, configurable: true });
    };
    if (isError(value)) define("stack", `${printable(showError(value))}${framesOf(value)}`);
    const keys = Array.isArray(value)
      ? Object.keys(value.slice(0, VALUES))
      : Object.getOwnPropertyNames(value);
    for (const key of keys) {
      const member = Object.getOwnPropertyDescriptor(value, key);
      if (member === undefined || member.get !== undefined || (key === "stack" && isError(value))) continue;
      if (left-- <= 0) break;
      define(key, logged(member.value, depth + 1), member.enumerable);
    }
    return copy;
  };
  try {
    return logged(thrown, 0);
  } catch {
    return printable(show(thrown));
  }
}

function isPlain(value: unknown): value is object {
  if (Array.isArray(value)) return true;
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
