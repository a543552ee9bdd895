// The classes that errors come back with: those of the language, those of the library, and those that the user registers.

import * as dispatchErrors from "../../dispatch/errors.js";
import * as processErrors from "../../process/errors.js";
import { OptionError } from "../../process/errors.js";
import * as storeErrors from "../../store/errors.js";
import type { ErrorClass } from "./error-record.js";
import * as payloadErrors from "./errors.js";

const LANGUAGE: readonly ErrorClass[] = [
  Error,
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
  DOMException,
];

function isErrorClass(value: unknown): value is ErrorClass {
  return typeof value === "function" && (value === Error || value.prototype instanceof Error);
}

/** The error classes among the exports of a module. */
export function errorClassesOf(module: object): readonly ErrorClass[] {
  return Object.values(module).filter(isErrorClass);
}

const KNOWN: readonly ErrorClass[] = [processErrors, dispatchErrors, storeErrors, payloadErrors].flatMap(
  errorClassesOf,
);

/**
 * Classes by name.
 *
 * @param more - what the user registers
 * @param own - further classes of the library
 * @param path - the option of `more`, for errors
 * @throws OptionError for a value that is not a class of errors, has no name, or has the name of another one
 */
export function errorClasses(
  more: readonly ErrorClass[],
  own: readonly ErrorClass[] = [],
  path = "errors",
): ReadonlyMap<string, ErrorClass> {
  const byName = new Map([...LANGUAGE, ...KNOWN, ...own].map((one) => [one.name, one]));
  if (!Array.isArray(more)) throw new OptionError(path, more, "an array of classes of errors");
  for (const [i, given] of more.entries()) {
    if (!isErrorClass(given) || given.name === "")
      throw new OptionError(`${path}[${i}]`, given, "a class with a name that extends Error");
    const other = byName.get(given.name);
    if (other !== undefined && other !== given)
      throw new OptionError(
        `${path}[${i}]`,
        given,
        `a class whose name no other class has; there is another ${given.name}`,
      );
    byName.set(given.name, given);
  }
  return byName;
}
