// The configuration of a service, checked at its start by the schema library of the user's choice.

import { OptionError } from "../../process/errors.js";
import { hideAll } from "../../process/hide.js";
import { only } from "../../process/known-options.js";
import { crash } from "../../process/reason.js";
import { formatReason } from "../../process/show.js";
import {
  pathOf,
  type SchemaIssue,
  type SchemaResult,
  type StandardSchema,
  schemaOption,
} from "../../process/standard-schema.js";
import { ConfigurationError, type ConfigurationProblem } from "./errors.js";

export type {
  SchemaIssue,
  SchemaPathSegment,
  SchemaResult,
  SchemaTypes,
  StandardSchema,
} from "../../process/standard-schema.js";

/** The configuration of a service: its schema, and where it comes from. */
export interface ConfigurationOptions<Schema extends StandardSchema = StandardSchema> {
  /** The schema: zod, valibot, arktype or another library that implements Standard Schema. */
  readonly schema: Schema;
  /** The raw values, such as `process.env` or a parsed file. A function is called at the start, and may be asynchronous. */
  readonly from: unknown;
}

/** @throws OptionError */
export function checkConfigurationOptions(path: string, given: unknown): ConfigurationOptions {
  const options = given as ConfigurationOptions;
  only(path, options, ["schema", "from"]);
  schemaOption(`${path}.schema`, options.schema);
  if (options.from === undefined)
    throw new OptionError(`${path}.from`, options.from, "the values to check, such as process.env");
  return options;
}

/** The output of a schema; undefined without a schema. */
export type ConfigOf<Schema extends StandardSchema | undefined> =
  Schema extends StandardSchema<infer Output> ? Output : undefined;

/** Reads and checks a configuration. @throws ConfigurationError with everything that is wrong */
export async function readConfiguration({ schema, from }: ConfigurationOptions): Promise<unknown> {
  let raw: unknown;
  let result: SchemaResult<unknown>;
  try {
    raw = typeof from === "function" ? await from() : from;
    result = await schema["~standard"].validate(raw);
  } catch (error) {
    const message = masked(formatReason(crash(error)), raw, []);
    throw new ConfigurationError([{ path: "", message: `it could not be checked: ${message}` }]);
  }
  if (result.issues === undefined) return result.value;
  throw new ConfigurationError(result.issues.map((issue) => problemOf(issue, raw)));
}

function problemOf(issue: SchemaIssue, raw: unknown): ConfigurationProblem {
  const path = pathOf(issue);
  return { path: path.map(String).join("."), message: masked(String(issue.message), raw, path) };
}

/** Settings of such names are hidden wherever their values appear. */
const SECRET = /pass|secret|token|key|auth|credential|cookie|private|dsn|url|uri|connection/i;

/** Most values of a configuration that are looked for in a message. */
const MAX_VALUES = 10_000;

/**
 * A message without the values that it may quote. Some libraries say what they received. Hidden are the value at the path and all
 * values below it, and everywhere the values of settings whose names say that they are secret.
 */
function masked(message: string, raw: unknown, path: readonly PropertyKey[]): string {
  let at = raw;
  for (const key of path)
    at = typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined;
  const hidden = [...texts(at, false), ...texts(raw, true)];
  return hideAll(message, hidden);
}

/** The texts and numbers in a value, as texts. */
function texts(value: unknown, secretOnly: boolean): string[] {
  const found: string[] = [];
  const seen = new Set<object>();
  const visit = (item: unknown, wanted: boolean): void => {
    if (found.length >= MAX_VALUES) return;
    if (typeof item === "object" && item !== null) {
      if (seen.has(item)) return;
      seen.add(item);
      for (const [key, inner] of Object.entries(item)) visit(inner, wanted || SECRET.test(key));
    } else if (wanted && (typeof item === "string" || typeof item === "number" || typeof item === "bigint")) {
      const text = String(item);
      if (text !== "") found.push(text);
    }
  };
  visit(value, !secretOnly);
  return found;
}
