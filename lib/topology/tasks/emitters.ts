// The object `emit` that tasks are given: a function for each stream, and for any other name one that says which there are.

import { OptionError } from "../../process/errors.js";
import { show } from "../../process/show.js";
import type { FullComponentConfig } from "../definition/config.js";
import { FieldError } from "../definition/errors.js";
import type { Fields, Streams } from "../definition/field.js";

/** What is asked of objects in passing, and is no stream. */
const IN_PASSING = ["then", "toJSON"];

interface Emitting {
  readonly name: string;
  readonly streams: Streams;
  readonly config: FullComponentConfig;
}

/** Where an object `emit` has what emits by it. */
const BY = Symbol("by");

/**
 * Behind the streams that there are: looked at only for other names. One for all tasks, since only objects with the same
 * prototype can be of the same shape, and a function that finds another shape in every task emits slowly.
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

/** @param make - the function of a stream; `check` is to be called with the values first, if it is there */
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
