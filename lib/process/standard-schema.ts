// Schemas of the library of the user's choice: zod, valibot, arktype and others that implement Standard Schema.
//
// The interface is that of https://standardschema.dev. It is small and fixed, so that it is declared here rather than depended on.

import { OptionError } from "./errors.js";
import { isThenable } from "./thenable.js";

/**
 * A schema of any library that implements Standard Schema, version 1. `Output` is what a valid value becomes, `Input` what the schema
 * takes.
 */
export interface StandardSchema<Output = unknown, Input = unknown> {
  /** The part of a schema that all libraries share. */
  readonly "~standard": {
    /** The version of the standard. */
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Carries the types; absent at run time. */
    readonly types?: SchemaTypes<Output, Input> | undefined;
  };
}

/** The types of a schema. */
export interface SchemaTypes<Output, Input = unknown> {
  /** The type that the schema takes. */
  readonly input: Input;
  /** The type of the value that comes out. */
  readonly output: Output;
}

/** The type that a schema takes. */
export type InferInput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["input"];
/** The type of the value that comes out. */
export type InferOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];

/** The result of a check: a value, or what is wrong. */
export type SchemaResult<Output> =
  | {
      /** The checked value, with defaults and conversions applied. */
      readonly value: Output;
      /** Absent when the value is valid. */
      readonly issues?: undefined;
    }
  | {
      /** The fault, in words. */
      readonly issues: readonly SchemaIssue[];
    };

/** One thing that is wrong with a value. */
export interface SchemaIssue {
  /** The fault, in words. */
  readonly message: string;
  /** Where it is: keys, or objects that hold a key. */
  readonly path?: readonly (PropertyKey | SchemaPathSegment)[] | undefined;
}

/** A part of a path, as some libraries have it. */
export interface SchemaPathSegment {
  /** The key. */
  readonly key: PropertyKey;
}

/** Requires a schema. @throws OptionError */
export function schemaOption<S extends StandardSchema>(path: string, given: S): S {
  const standard = (given as Partial<StandardSchema> | null | undefined)?.["~standard"];
  if (typeof standard?.validate === "function" && standard.version === 1) return given;
  throw new OptionError(
    path,
    given,
    "a schema that implements Standard Schema, version 1, such as zod's or valibot's",
  );
}

/** The keys of an issue's path. */
export function pathOf(issue: SchemaIssue): readonly PropertyKey[] {
  return (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
}

/**
 * Checks a value: its output, or what `refused` makes of the issues, thrown. A promise only if the schema is asynchronous.
 *
 * @param refused - makes the error
 */
export function validated<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
  refused: (issues: readonly SchemaIssue[]) => Error,
): Output | Promise<Output> {
  const judge = (result: SchemaResult<Output>): Output => {
    if (result.issues === undefined) return result.value;
    throw refused(result.issues);
  };
  const result = schema["~standard"].validate(value);
  return isThenable(result) ? Promise.resolve(result).then(judge) : judge(result);
}
