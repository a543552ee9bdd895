// The object `emit` that tasks are given: a function for each stream, and for any other name one that says which there are.

import { OptionError } from "../process/errors.js";
import { show } from "../process/show.js";
import type { FullComponentConfig } from "./config.js";
import { FieldError } from "./errors.js";
import type { Fields, Streams } from "./field.js";

/** What is asked of objects in passing, and is no stream. */
const IN_PASSING = ["then", "toJSON"];

interface Emitting {
  readonly name: string;
  readonly streams: Streams;
  readonly config: FullComponentConfig;
}

/**
 * @param others - made by {@link strangers}
 * @param make - the function of a stream; `check` is to be called with the values first, if it is there
 */
export function emitters<F>(
  { name, streams, config }: Emitting,
  others: object,
  make: (stream: string, check: ((values: unknown) => void) | undefined) => F,
): Record<string, F> {
  const emit: Record<string, F> = Object.create(others);
  for (const [stream, fields] of Object.entries(streams))
    emit[stream] = make(
      stream,
      config.checkValues ? (values) => checkValues(name, stream, fields, values) : undefined,
    );
  return emit;
}

/** Behind the streams that there are: looked at only for other names. */
export function strangers({ name: component, streams }: Emitting): object {
  const known = Object.keys(streams);
  return new Proxy(Object.create(null), {
    get: (_target, name) =>
      typeof name !== "string" || IN_PASSING.includes(name)
        ? undefined
        : () => {
            const there = known.length === 0 ? "none" : known.join(", ");
            throw new OptionError(`emit.${name}`, name, `a stream of ${component}; there are ${there}`);
          },
  }) as object;
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
