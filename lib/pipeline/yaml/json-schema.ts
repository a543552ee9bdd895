// The JSON Schema of files, for editors. It is looser than the parser where it has to be: a variable may stand for any scalar, and the
// rules of the graph are beyond JSON Schema.

import { OptionError } from "../../process/errors.js";
import type { NumberShape, ObjectShape, Shape } from "../definition/shape.js";
import { fileShape } from "./file-shape.js";
import { MESSAGES_SHAPE } from "./messages-source.js";
import type { MadeType, PipelineRegistry } from "./registry.js";

/** A JSON Schema, draft 7. */
export interface JsonSchema {
  readonly [name: string]: unknown;
}

const DRAFT = "draft-07";
const VARIABLE: JsonSchema = { $ref: "#/definitions/variable" };
const VARIABLE_SCHEMA: JsonSchema = {
  type: "string",
  pattern: "\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}",
  description: "A variable of the environment, with or without a default.",
};

/**
 * The JSON Schema, draft 7, of the files that name types of this registry. Editors use it to complete and to check files while they
 * are written. A type whose schema has no JSON Schema takes any configuration, and its description says so.
 *
 * @example
 * const text = JSON.stringify(jsonSchemaOf(pipelineRegistry()), undefined, 2); // write it to a file, and name the file in your editor
 */
export function jsonSchemaOf(registry: PipelineRegistry): JsonSchema {
  if (!((registry as PipelineRegistry | undefined | null)?.adapters instanceof Map))
    throw new OptionError("registry", registry, "made by pipelineRegistry()");
  const definitions: Record<string, JsonSchema> = { variable: VARIABLE_SCHEMA };
  for (const [kind, types] of kindsOf(registry))
    for (const type of types.values()) {
      const id = `${kind}-${type.type}`;
      if (type.config !== undefined) definitions[id] = configSchema(id, type);
    }
  const narrowed = ({ kind }: ObjectShape): JsonSchema => {
    const types = kindsOf(registry).find(([one]) => one === kind)?.[1];
    if (types === undefined) return {};
    return { allOf: [...types.values()].map((type) => configOf(`${kind}-${type.type}`, type, definitions)) };
  };
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "A pipeline of signalbox",
    ...written(fileShape(registry), narrowed),
    definitions,
  };
}

function kindsOf({
  adapters,
  sources,
}: PipelineRegistry): [string, ReadonlyMap<string, MadeType<unknown>>][] {
  return [
    ["adapter", adapters],
    ["source", sources],
  ];
}

/** A keyword of JSON Schema. As the name of a member in code it would make an object look like a promise. */
const THEN = "then";

/** The configuration of an object, by its type. */
function configOf(
  id: string,
  { type, config, description }: MadeType<unknown>,
  definitions: Readonly<Record<string, JsonSchema>>,
): JsonSchema {
  const required = definitions[id]?.required;
  const isRequired = Array.isArray(required) && required.length > 0;
  const consequence = {
    ...(description === undefined ? {} : { description }),
    properties: { config: config === undefined ? false : { $ref: `#/definitions/${id}` } },
    ...(isRequired ? { required: ["config"] } : {}),
  };
  return Object.fromEntries([
    ["if", { properties: { type: { const: type } }, required: ["type"] }],
    [THEN, consequence],
  ]);
}

/** The part of a schema that libraries share, where they have it. */
interface WithJsonSchema {
  readonly jsonSchema?: { input(options: { readonly target: string }): object };
}

function configSchema(id: string, { type, config, jsonSchema }: MadeType<unknown>): JsonSchema {
  if (jsonSchema !== undefined) return embedded(jsonSchema, id);
  // It has no library behind it.
  if (id === "source-messages") return written(MESSAGES_SHAPE, () => ({}));
  const standard = config?.["~standard"] as (WithJsonSchema & { readonly vendor: string }) | undefined;
  const anything = (why: string): JsonSchema => ({ description: `Anything, for an editor: ${why}.` });
  if (typeof standard?.jsonSchema?.input !== "function")
    return anything(`the schema of ${type} (${standard?.vendor}) has no JSON Schema`);
  try {
    return embedded(standard.jsonSchema.input({ target: DRAFT }), id);
  } catch {
    // Dates, big integers and some transformations have none.
    return anything(`the schema of ${type} cannot be written as JSON Schema`);
  }
}

/** A schema as a part of another one: its references begin at its own place. */
function embedded(schema: object, id: string): JsonSchema {
  return rewritten(schema, id, true) as JsonSchema;
}

/** Keywords whose members are schemas by name. */
const BY_NAME = new Set(["properties", "patternProperties", "definitions", "$defs", "dependencies"]);
/** Keywords whose value is a schema or a list of them. */
const INNER = new Set([
  "items",
  "additionalItems",
  "additionalProperties",
  "contains",
  "allOf",
  "anyOf",
  "oneOf",
]);
/** Within these, a further alternative would change what is refused. */
const EXACT = new Set(["not", "if", "then", "else", "propertyNames"]);
const SCALARS = new Set(["string", "number", "integer", "boolean"]);

function rewritten(schema: unknown, id: string, isLoose: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((one) => rewritten(one, id, isLoose));
  if (typeof schema !== "object" || schema === null) return schema;
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (name === "$schema" || name === "$id") continue;
    if (name === "$ref" && typeof value === "string" && value.startsWith("#"))
      result.$ref = `#/definitions/${id}${value.slice(1)}`;
    else if (BY_NAME.has(name) && typeof value === "object" && value !== null)
      result[name] = Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [key, rewritten(inner, id, isLoose)]),
      );
    // Two alternatives may both be a variable.
    else if (INNER.has(name))
      result[name === "oneOf" && isLoose ? "anyOf" : name] = rewritten(value, id, isLoose);
    else if (EXACT.has(name)) result[name] = rewritten(value, id, false);
    else result[name] = value;
  }
  const types = [result.type].flat();
  const isScalar = types.some((type) => SCALARS.has(type as string)) || "enum" in result || "const" in result;
  return isLoose && isScalar ? orVariable(result) : result;
}

/** A schema of a scalar, or a variable in its place. */
function orVariable(schema: JsonSchema): JsonSchema {
  const { description, default: byDefault, ...rest } = schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    anyOf: [rest, VARIABLE],
  };
}

/** A shape as JSON Schema. */
function written(shape: Shape, more: (shape: ObjectShape) => JsonSchema): JsonSchema {
  switch (shape.type) {
    case "any":
      return {};
    case "number":
      return orVariable(numberSchema(shape));
    case "text":
      return orVariable({
        type: "string",
        ...(shape.pattern === undefined ? {} : { pattern: shape.pattern.source }),
      });
    case "flag":
      return orVariable({ type: "boolean" });
    case "words":
      return orVariable({ enum: shape.words });
    case "list":
      return {
        type: "array",
        items: written(shape.of, more),
        ...(shape.least === undefined ? {} : { minItems: shape.least }),
      };
    case "record":
      return {
        type: "object",
        propertyNames: { pattern: shape.key.pattern?.source ?? "" },
        additionalProperties: written(shape.of, more),
        ...(shape.least === undefined ? {} : { minProperties: shape.least }),
      };
    case "object":
      return objectSchema(shape, more);
    case "either":
      return { anyOf: shape.forms.map((form) => written(form, more)) };
    default:
      return shape satisfies never;
  }
}

function objectSchema(shape: ObjectShape, more: (shape: ObjectShape) => JsonSchema): JsonSchema {
  const fields = Object.entries(shape.fields);
  const required = fields.filter(([, field]) => field.required === true).map(([name]) => name);
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(
      fields.map(([name, field]) => [
        name,
        { description: field.description, ...written(field.shape, more) },
      ]),
    ),
    ...(required.length === 0 ? {} : { required }),
    ...more(shape),
  };
}

function numberSchema({ whole, least, above, most }: NumberShape): JsonSchema {
  return {
    type: whole ? "integer" : "number",
    ...(least === undefined ? {} : { minimum: least }),
    ...(above === undefined ? {} : { exclusiveMinimum: above }),
    ...(most === undefined ? {} : { maximum: most }),
  };
}
