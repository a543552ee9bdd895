// Errors as records: the names of their classes, and their properties. An error comes back as an instance of the first of its
// classes that is registered, with the same properties; no constructor runs.

import { isError, show } from "../../process/show.js";

/** Class of an error. */
export type ErrorClass = abstract new (...args: never[]) => Error;

/**
 * Classes from the error's own to the one below Error; what `name` shows; the properties, enumerable ones first. Flat lists of keys
 * and values, as a key may be `__proto__`.
 */
type ErrorRecord = readonly [
  classes: readonly string[],
  name: string,
  shown: readonly unknown[],
  hidden: readonly unknown[],
];

/** Most classes of one error that are recorded. */
const MAX_CLASSES = 20;

/**
 * The record of an error.
 *
 * @param storable - the value of a property if it can be stored, else a text about it
 */
export function errorRecord(error: Error, storable: (value: unknown, key: string) => unknown): ErrorRecord {
  const shown: unknown[] = [];
  const hidden: unknown[] = [];
  for (const key of Object.getOwnPropertyNames(error)) {
    const list = Object.getOwnPropertyDescriptor(error, key)?.enumerable === true ? shown : hidden;
    list.push(key, storable(read(error, key), key));
  }
  const name = read(error, "name");
  return [classesOf(error), typeof name === "string" ? name : show(name), shown, hidden];
}

function read(error: Error, key: string): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[key];
  } catch (thrown) {
    return `(cannot be read: ${isError(thrown) ? thrown.message : show(thrown)})`;
  }
}

function classesOf(error: Error): string[] {
  const names: string[] = [];
  for (
    let prototype: unknown = Object.getPrototypeOf(error);
    typeof prototype === "object" &&
    prototype !== null &&
    prototype !== Error.prototype &&
    names.length < MAX_CLASSES;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const own: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof own === "function" && typeof own.name === "string") names.push(own.name);
  }
  return names;
}

/** An error without properties, to be filled in when everything that it refers to exists. */
export function emptyError(): Error {
  const error = new Error();
  Reflect.deleteProperty(error, "stack");
  return error;
}

/** Gives an empty error its class and its properties. @throws TypeError when the record is damaged */
export function fillError(
  error: Error,
  record: readonly unknown[],
  classes: ReadonlyMap<string, ErrorClass>,
): void {
  const [names, name, shown, hidden] = checked(record);
  const known = names.find((one) => classes.has(one));
  if (known !== undefined) Object.setPrototypeOf(error, classes.get(known)?.prototype as object);
  define(error, hidden, false);
  define(error, shown, true);
  // `class PaymentDeclined extends Error {}` has the name Error until its class is lost.
  const lost = names[0] !== undefined && names[0] !== known;
  const wanted = lost && name === "Error" ? names[0] : name;
  if (!Object.hasOwn(error, "name") && error.name !== wanted) define(error, ["name", wanted], false);
}

/** @throws TypeError */
function checked(record: readonly unknown[]): ErrorRecord {
  const [names, name, ...members] = record;
  const isRecord =
    Array.isArray(names) &&
    names.every((one) => typeof one === "string") &&
    typeof name === "string" &&
    members.length === 2 &&
    members.every(areMembers);
  if (!isRecord) throw new TypeError("the record of an error is damaged");
  return record as unknown as ErrorRecord;
}

/** Whether a list has keys and values in turn. */
export function areMembers(list: unknown): boolean {
  return (
    Array.isArray(list) &&
    list.length % 2 === 0 &&
    list.every((one, index) => index % 2 === 1 || typeof one === "string")
  );
}

function define(on: object, members: readonly unknown[], enumerable: boolean): void {
  for (let i = 0; i < members.length; i += 2)
    Object.defineProperty(on, members[i] as string, {
      value: members[i + 1],
      enumerable,
      writable: true,
      configurable: true,
    });
}
