// In the protocol a tuple is an array, in the order of the stream's fields; in this library it is an object by field names.

import { show } from "../../../process/show.js";
import type { AnyValues, Fields, Streams } from "../../definition/field.js";
import { MultilangError } from "./errors.js";

/** An own property. The name comes from outside, and a stream may be called `constructor`. */
export function ownOf<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The values of an object, in the order of the fields; null for a missing value. */
export function toArray(fields: Fields, values: AnyValues): unknown[] {
  return Object.keys(fields).map((name) => values[name] ?? null);
}

/**
 * Names the values of an array. @throws MultilangError when there are more or fewer values than fields, or a field does
 * not accept its value
 */
export function toValues(what: string, fields: Fields, array: readonly unknown[]): AnyValues {
  const names = Object.keys(fields);
  if (array.length !== names.length)
    throw new MultilangError(
      "field",
      `a tuple of ${what} must have ${names.length} values (${names.join(", ")}); got ${array.length}: ${show(array)}`,
    );
  const values = named(names, array);
  checkValues(what, fields, values);
  return values;
}

/** @throws MultilangError when a field is missing, or does not accept its value */
export function checkValues(what: string, fields: Fields, values: AnyValues): void {
  for (const [name, { accepts, type }] of Object.entries(fields)) {
    if (!Object.hasOwn(values, name))
      throw new MultilangError("field", `a tuple of ${what} has no field ${name}`);
    const value = values[name];
    if (!accepts(value))
      throw new MultilangError("field", `field ${name} of ${what} must be a ${type}; got ${show(value)}`);
  }
}

export function named(names: readonly string[], array: readonly unknown[]): AnyValues {
  return Object.fromEntries(names.map((name, index) => [name, array[index]]));
}

/**
 * The stream of an emit: the one that it names; without a name `default`, or else the only stream.
 *
 * @throws MultilangError when there is no such stream
 */
export function streamOf(
  streams: Streams,
  named: string | undefined,
): { readonly name: string; readonly fields: Fields } {
  const own = Object.keys(streams);
  const name = named ?? (own.length === 1 && !own.includes("default") ? (own[0] as string) : "default");
  const fields = own.includes(name) ? streams[name] : undefined;
  if (fields === undefined)
    throw new MultilangError(
      "stream",
      `it has no stream ${show(name)}; declared are: ${own.length === 0 ? "none" : own.join(", ")}`,
    );
  return { name, fields };
}
