// Rebuilds errors that a thread has packed.

import type { PackedError, PackedThrown } from "./thread.js";

type ErrorClass = new (message: string) => Error;

/** Classes that every thread has: an error of one of these is an instance of it here too. */
const CLASSES: Readonly<Record<string, ErrorClass>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

/** Rebuilds the value that a function of a worker file threw: an error with its class name, stack, properties and cause. */
export function revive(thrown: PackedThrown): unknown {
  return "value" in thrown ? thrown.value : reviveError(thrown.error);
}

function reviveError({ name, message, stack, properties, cause, errors }: PackedError): Error {
  const Class = Object.hasOwn(CLASSES, name) ? (CLASSES[name] as ErrorClass) : Error;
  const error = errors === undefined ? new Class(message) : new AggregateError(errors.map(revive), message);
  const hidden = { writable: true, configurable: true, enumerable: false };
  if (error.name !== name) Object.defineProperty(error, "name", { ...hidden, value: name });
  if (cause !== undefined) Object.defineProperty(error, "cause", { ...hidden, value: revive(cause) });
  Object.defineProperty(error, "stack", { ...hidden, value: stack && readable(stack, name) });
  // Not assigned: a property called `__proto__` is one like the others.
  for (const [key, value] of Object.entries(properties))
    Object.defineProperty(error, key, { ...hidden, value, enumerable: true });
  return error;
}

/** The stack without the lines of the thread's own program. Its head has the class name, as `console.log` of an error would. */
function readable(stack: string, name: string): string {
  const lines = stack.split("\n").filter((line) => !line.includes("[worker eval]"));
  const text = lines.join("\n");
  return text.startsWith("Error:") ? `${name}${text.slice("Error".length)}` : text;
}
