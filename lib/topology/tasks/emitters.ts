// The object `emit` of a task's context: a function for each stream. Any other name gives a function that throws an error
// with the names that there are.

import { OptionError } from "../../process/errors.js";
import { show } from "../../process/show.js";
import type { FullComponentConfig } from "../definition/config.js";
import { FieldError } from "../definition/errors.js";
import type { Fields, Streams } from "../definition/field.js";

/** Properties that the language reads from any object: they are no streams. */
const IN_PASSING = ["then", "toJSON"];

interface Emitting {
  readonly name: string;
  readonly streams: Streams;
  readonly config: FullComponentConfig;
}

/** The property of an object `emit` that holds its component. */
const BY = Symbol("by");

/**
 * The prototype of all objects `emit`, which is read only for names that are no streams. All tasks share it: only objects
 * with the same prototype have the same hidden class, and a function that meets a different one in every task is slow.
 */
const STRANGERS = new Proxy(Object.create(null), {
  get: (_target, name, emit: { readonly [BY]?: Emitting }) => {
    if (typeof name !== "string" || IN_PASSING.includes(name)) return undefined;
    return () => {
      const { name: component, streams } = emit[BY] as Emitting;
      const there = Object.keys(streams).join(", ") || "none";
      throw new OptionError(`emit.${name}`, name, `a stream of ${component}; there are ${there}`);
    };
  },
}) as object;

/** @param make - makes the function of a stream, which calls `check` with the values first, if there is a `check` */
export function emitters<F>(
  by: Emitting,
  make: (stream: string, check: ((values: unknown) => void) | undefined) => F,
): Record<string, F> {
  const { name, streams, config } = by;
  const emit: Record<string, F> = Object.create(STRANGERS, { [BY]: { value: by } });
  for (const [stream, fields] of Object.entries(streams))
    emit[stream] = make(
      stream,
      config.checkValues ? (values) => checkValues(name, stream, fields, values) : undefined,
    );
  return emit;
}

/** @throws FieldError */
function checkValues(component: string, stream: string, fields: Fields, values: unknown): void {
  for (const [name, { type, accepts }] of Object.entries(fields)) {
    const isThere = typeof values === "object" && values !== null && name in values;
    const value = isThere ? (values as Record<string, unknown>)[name] : undefined;
    if (!isThere || !accepts(value))
      throw new FieldError(component, stream, name, type, isThere ? show(value) : "none");
  }
}
