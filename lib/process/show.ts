// Short texts for values. A process can throw or send any value, so no function here throws, and the work is bounded
// for values of any size. The exit of a process must never depend on how its reason behaves.

import type { ExitReason } from "./exit-reason.js";
import { userFrames } from "./own-code.js";
import { Pid } from "./pid.js";

/** Most characters of a value in a text. */
const VALUE_LENGTH = 80;
/** Most levels of nested objects that are shown. */
const VALUE_DEPTH = 5;
/** Most characters of an error's name or message. */
export const MESSAGE_LENGTH = 1_000;
/** Most characters of a stack. */
export const STACK_LENGTH = 10_000;

/**
 * A value as a short text of about 80 characters at most. Never throws. Calls no getter, `toJSON`, `toString` or
 * `Symbol.toPrimitive` of the value or its members: an accessor shows as `…`. A value that contains itself, or that
 * throws when it is read, shows as `a Name`.
 */
export function show(value: unknown): string {
  let text = "";
  const path: object[] = [];
  const members = (item: object, keys: readonly string[] | undefined, length: number): void => {
    for (let i = 0; i < length; i++) {
      if (text.length > VALUE_LENGTH) return;
      const key = keys === undefined ? i : (keys[i] as string);
      if (i > 0) text += ",";
      if (keys !== undefined) text += `${JSON.stringify(cut(key as string, VALUE_LENGTH))}:`;
      const property = Object.getOwnPropertyDescriptor(item, key);
      if (property?.get === undefined) draw(property?.value);
      else text += "…";
    }
  };
  const draw = (item: unknown): void => {
    if (typeof item !== "object" || item === null || item instanceof Pid) text += showSimple(item);
    else if (path.includes(item)) throw new TypeError("contains itself");
    else if (item instanceof Error) text += showError(item);
    else if (path.length === VALUE_DEPTH || ArrayBuffer.isView(item)) text += classOf(item);
    else {
      path.push(item);
      if (Array.isArray(item)) {
        text += "[";
        members(item, undefined, item.length);
        text += "]";
      } else {
        const keys = Object.keys(item);
        const isPlain = keys.length > 0 || /^an? [Oo]bject$/.test(classOf(item));
        text += isPlain ? "{" : classOf(item);
        members(item, keys, keys.length);
        if (isPlain) text += "}";
      }
      path.pop();
    }
  };
  try {
    draw(value);
    return cut(text, VALUE_LENGTH);
  } catch {
    return classOf(value);
  }
}

/** The text of a value without members. */
function showSimple(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(cut(value, VALUE_LENGTH));
  if (typeof value === "function") return `function ${read(value, "name", VALUE_LENGTH) || "(anonymous)"}`;
  // Formatting a number of a million digits takes seconds.
  if (typeof value === "bigint" && BigInt.asIntN(256, value) !== value) return "a bigint";
  return value instanceof Pid ? JSON.stringify(value) : String(value);
}

function classOf(value: unknown): string {
  try {
    const name = read(Object.getPrototypeOf(value).constructor, "name", VALUE_LENGTH);
    if (name) return `a ${name}`;
  } catch {
    // The value has no class with a readable name.
  }
  return "an object";
}

/** A reason in a few words, for logs and error texts. Never throws, for any reason; bounded in length. */
export function formatReason(reason: ExitReason): string {
  try {
    return describe(reason);
  } catch {
    return "a reason that cannot be read";
  }
}

function describe(reason: ExitReason): string {
  switch (reason.type) {
    case "crash":
      return `crash, ${showCause(reason.error)}`;
    case "custom":
      return `custom ${show(reason.value)}`;
    case "shutdown":
      return reason.detail === undefined
        ? "shutdown"
        : `shutdown, ${isError(reason.detail) ? read(reason.detail, "message", MESSAGE_LENGTH) : show(reason.detail)}`;
    default:
      return reason.type;
  }
}

/** `Name: message`. Never throws. */
export function showError(error: Error): string {
  return `${read(error, "name", MESSAGE_LENGTH) ?? "Error"}: ${read(error, "message", MESSAGE_LENGTH) ?? "(no readable message)"}`;
}

/**
 * A value of a user in an error's text: only the kind of the value, without its contents. The value may be a secret, and
 * error texts reach logs. Never throws.
 */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value !== "object") return value === "" ? "an empty string" : `a ${typeof value}`;
  try {
    if (Array.isArray(value)) return value.length === 0 ? "an empty array" : `an array of ${value.length}`;
  } catch {
    // A revoked Proxy is an object.
  }
  const kind = classOf(value);
  return kind === "a Object" ? "an object" : kind.replace(/^a (?=[AEIOU])/, "an ");
}

/** The stack of an Error, if the stack can be read. Never throws. */
export function stackOf(error: Error): string | undefined {
  return read(error, "stack", STACK_LENGTH);
}

/** The same, however long it is. */
export function wholeStackOf(error: Error): string | undefined {
  return read(error, "stack", Number.POSITIVE_INFINITY);
}

/** A thrown value as text: an Error with its frames, any other value as {@link show} has it. Never throws. */
export function showThrown(thrown: unknown): string {
  return isError(thrown) ? `${showError(thrown)}${framesOf(thrown)}` : show(thrown);
}

/** A cause in the text of an error that keeps it: without its frames, which the cause has. Never throws. */
export function showCause(cause: unknown): string {
  return isError(cause) ? showError(cause) : show(cause);
}

/** The frames of an Error that are the user's, each after a line end; none of a value that has no stack. Never throws. */
export function framesOf(thrown: unknown): string {
  return isError(thrown) ? framesIn(wholeStackOf(thrown) ?? "") : "";
}

/** The same of a stack. */
export function framesIn(stack: string): string {
  return userFrames(stack)
    .map((frame) => `\n${frame}`)
    .join("");
}

/** `instanceof Error` that never throws. A revoked Proxy counts as no Error. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/**
 * The string in the property `key`, cut to `longest` characters. Getters are called too, because the properties of an
 * Error may be getters.
 */
function read(of: object, key: string, longest: number): string | undefined {
  try {
    const value = (of as Record<string, unknown>)[key];
    return typeof value === "string" ? cut(value, longest) : undefined;
  } catch {
    return undefined;
  }
}

/** Cuts no character in two: one outside of the basic plane has two units. */
export function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const isBetween = /[\uD800-\uDBFF]/.test(text.charAt(longest - 1));
  return `${text.slice(0, isBetween ? longest - 1 : longest)}…`;
}
