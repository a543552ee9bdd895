// The fields of a stream, declared as values. TypeScript infers their types. Programs in other languages identify fields
// by their order.

import { OptionError } from "../../process/errors.js";
import { text } from "../../process/options.js";

declare const carried: unique symbol;

/** One field of a stream. */
export interface Field<T> {
  /** The name of its type in error texts and graphs. */
  readonly type: string;
  /** Whether a value that came from another program may stand in this field. */
  readonly accepts: (value: unknown) => boolean;
  /** Exists only as a type: the TypeScript type of the field's values. */
  readonly [carried]?: T;
}

/** The fields of a stream, by name, in order. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The streams of a component, by name. */
export type Streams = Readonly<Record<string, Fields>>;

/** The values of a tuple of a stream with these fields. */
export type ValuesOf<F> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** The values of a tuple whose fields are not declared. */
export type AnyValues = Readonly<Record<string, unknown>>;

/**
 * The types a field may have.
 *
 * @example const words = { word: field.text, seen: field.number, at: field.of<{ file: string; line: number }>() };
 */
export const field: {
  /** A string. */
  readonly text: Field<string>;
  /** A number. */
  readonly number: Field<number>;
  /** `true` or `false`. */
  readonly boolean: Field<boolean>;
  /** Any type. The compiler trusts it; nothing checks it at run time. Between programs it travels as JSON. */
  readonly of: <T>() => Field<T>;
} = {
  text: { type: "text", accepts: (value) => typeof value === "string" },
  number: { type: "number", accepts: (value) => typeof value === "number" },
  boolean: { type: "boolean", accepts: (value) => typeof value === "boolean" },
  of: <T>(): Field<T> => ANYTHING,
};

const ANYTHING: Field<never> = { type: "value", accepts: () => true };

/** Names of streams and components appear in keys of subscriptions, in graphs and in other hosts: no dots, no spaces. */
const NAME = /^[\p{L}][\p{L}\p{N}_-]*$/u;

/** @throws OptionError */
export function checkName(path: string, value: unknown): string {
  const name = text(path, value);
  if (NAME.test(name)) return name;
  throw new OptionError(path, value, "letters, digits, - and _, a letter first");
}

/** @throws OptionError */
export function checkFields(path: string, fields: unknown): Fields {
  if (typeof fields !== "object" || fields === null)
    throw new OptionError(path, fields, "an object of fields, such as { word: field.text }");
  for (const [name, one] of Object.entries(fields)) {
    text(`a field's name in ${path}`, name);
    if (typeof (one as Partial<Field<unknown>> | null)?.accepts !== "function")
      throw new OptionError(`${path}.${name}`, one, "a field, such as field.text");
  }
  return Object.freeze({ ...(fields as Fields) });
}

/** @throws OptionError */
export function checkStreams(path: string, streams: unknown): Streams {
  if (typeof streams !== "object" || streams === null)
    throw new OptionError(path, streams, "an object of streams, such as { words: { word: field.text } }");
  return Object.freeze(
    Object.fromEntries(
      Object.entries(streams).map(([name, fields]) => [
        checkName(`a stream's name in ${path}`, name),
        checkFields(`${path}.${name}`, fields),
      ]),
    ),
  );
}

/** A bolt has one of both. @throws OptionError */
export function checkInputs(
  path: string,
  options: { readonly input?: unknown; readonly inputs?: unknown },
): void {
  if ((options.input === undefined) !== (options.inputs === undefined)) return;
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  throw new OptionError(
    path,
    given.map(([name]) => name),
    "given either `input` or `inputs`",
  );
}
