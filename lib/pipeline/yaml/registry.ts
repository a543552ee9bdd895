// The types that a file can name: those of adapters and of sources, each with the schema of its configuration.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { withMethod } from "../../process/options.js";
import { type InferOutput, type StandardSchema, schemaOption } from "../../process/standard-schema.js";
import type { Adapter, BatchAdapter } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";
import type { Source } from "../definition/source.js";
import { messagesSource } from "./messages-source.js";

/** Where in a file an adapter or a source is made. */
export interface MadeFor {
  /** The name of the adapter in its route, or of the source. */
  readonly name: string;
  /** The name of the pipeline. */
  readonly pipeline: string;
  /** The name of the route; undefined for a source. */
  readonly route: string | undefined;
}

/** The name of a type, and the schema of its configuration. */
export interface TypeOptions<Schema extends StandardSchema> {
  /** Its name in files: letters, digits, `_` and `-`, a letter first. */
  readonly type: string;
  /** For people, in editors. */
  readonly description?: string;
  /**
   * Checks `config`: zod, valibot, arktype or another library that implements Standard Schema. A file without `config` gives it `{}`.
   * Left out: the type has no configuration.
   */
  readonly config?: Schema;
  /** The JSON Schema of `config`, draft 7, for editors. Default: that of the schema, if its library has one. */
  readonly jsonSchema?: object;
}

/** Options of {@link adapterType}. */
export interface AdapterTypeOptions<Schema extends StandardSchema, I, O> extends TypeOptions<Schema> {
  /** Makes an adapter. It may throw: that is a fault of the file. Any name that it gives the adapter is replaced by the file's. */
  readonly create: (config: InferOutput<Schema>, made: MadeFor) => Adapter<I, O> | BatchAdapter<I, O>;
}

/** Options of {@link sourceType}. */
export interface SourceTypeOptions<Schema extends StandardSchema, T, C> extends TypeOptions<Schema> {
  /** Makes a source. It may throw: that is a fault of the file. Any name that it gives the source is replaced by the file's. */
  readonly create: (config: InferOutput<Schema>, made: MadeFor) => Source<T, C>;
}

/** A type of adapters or sources. */
export interface MadeType<Made> {
  /** Its name in files. */
  readonly type: string;
  /** For people. */
  readonly description: string | undefined;
  /** Checks the configuration. Undefined: there is none. */
  readonly config: StandardSchema | undefined;
  /** The JSON Schema of the configuration, if it was given. */
  readonly jsonSchema: object | undefined;
  /** @internal */
  readonly create: (config: never, made: MadeFor) => Made;
}

/** A type of adapters. See {@link adapterType}. */
export type AdapterType = MadeType<Adapter | BatchAdapter>;
/** A type of sources. See {@link sourceType}. */
export type SourceType = MadeType<Source<unknown, never>>;

/** The types that a file can name. See {@link pipelineRegistry}. */
export interface PipelineRegistry {
  /** The types of adapters, by name. */
  readonly adapters: ReadonlyMap<string, AdapterType>;
  /** The types of sources, by name. */
  readonly sources: ReadonlyMap<string, SourceType>;
}

const KNOWN = ["type", "description", "config", "jsonSchema", "create"];

/**
 * Makes a type of adapters that files can name.
 *
 * @throws OptionError
 * @example
 * const shout = adapterType({
 *   type: "shout",
 *   create: (_, { name }) => ({ name, process: (line: string) => line.toUpperCase() }),
 * });
 */
export function adapterType<Schema extends StandardSchema, I, O>(
  options: AdapterTypeOptions<Schema, I, O>,
): AdapterType {
  return checked<Adapter | BatchAdapter>(options as unknown as AdapterType);
}

/**
 * Makes a type of sources that files can name.
 *
 * @throws OptionError
 * @example
 * const hours = sourceType({
 *   type: "hours",
 *   create: (_, { name }) => ({
 *     name,
 *     *open({ checkpoint = 0 }: { checkpoint: number | undefined }) {
 *       for (let hour = checkpoint; hour < 24; hour++) yield { value: hour, checkpoint: hour + 1 };
 *     },
 *   }),
 * });
 */
export function sourceType<Schema extends StandardSchema, T, C>(
  options: SourceTypeOptions<Schema, T, C>,
): SourceType {
  return checked<Source<unknown, never>>(options as unknown as SourceType);
}

function checked<Made>(given: MadeType<Made>): MadeType<Made> {
  only("", given, KNOWN);
  const { type, description, config, jsonSchema, create } = given;
  checkName("type", type);
  if (config !== undefined) schemaOption("config", config);
  if (jsonSchema !== undefined && (typeof jsonSchema !== "object" || jsonSchema === null))
    throw new OptionError("jsonSchema", jsonSchema, "a JSON Schema, as an object");
  withMethod("create", given, "create", "a function that makes it from its configuration");
  return { type, description, config, jsonSchema, create };
}

/**
 * Gathers the types that files can name. Every registry has the source type `messages`, whose messages are in the file.
 *
 * @throws OptionError if two types have one name
 * @example
 * const shout = adapterType({ type: "shout", create: (_, { name }) => ({ name, process: (line: string) => line.toUpperCase() }) });
 * const registry = pipelineRegistry({ adapters: [shout] });
 */
export function pipelineRegistry(
  options: {
    /** The types of adapters. */
    readonly adapters?: readonly AdapterType[];
    /** The types of sources. */
    readonly sources?: readonly SourceType[];
  } = {},
): PipelineRegistry {
  only("", options, ["adapters", "sources"]);
  return {
    adapters: byName("adapters", options.adapters ?? [], []),
    sources: byName("sources", options.sources ?? [], [MESSAGES]),
  };
}

function byName<T extends { readonly type: string }>(
  path: string,
  all: readonly T[],
  shipped: readonly T[],
): ReadonlyMap<string, T> {
  if (!Array.isArray(all)) throw new OptionError(path, all, "a list of types");
  const types = new Map(shipped.map((one) => [one.type, one]));
  for (const [i, one] of (all as readonly T[]).entries()) {
    const type = checkName(`${path}[${i}].type`, one?.type);
    if (types.has(type)) throw new OptionError(`${path}[${i}].type`, type, "unlike the other types");
    types.set(type, one);
  }
  return types;
}

const MESSAGES: SourceType = sourceType(messagesSource);
