// The adapters and sources that come with the library, as types that files can name: those that need no code.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { flag, text } from "../../process/options.js";
import type { StandardSchema } from "../../process/standard-schema.js";
import { giveUpDamaged } from "../adapters/damaged.js";
import { deduplicate } from "../adapters/deduplicate.js";
import { writeCsv, writeJsonLines } from "../adapters/file-writer.js";
import { httpRequest } from "../adapters/http-request.js";
import { throttle } from "../adapters/throttle.js";
import { filter } from "../adapters/values.js";
import { type Condition, fieldOf } from "../definition/condition.js";
import { csvRows } from "../sources/csv.js";
import { jsonLines } from "../sources/json-lines.js";
import { timer } from "../sources/timer.js";
import { type AdapterType, adapterType, type MadeFor, type MadeType, type SourceType } from "./registry.js";
import { collect, drop, pick, rename, set, split } from "./shipped-fields.js";

/** The configuration of a type: each adapter and source checks its own options, and names the one that is wrong. */
const OPTIONS: StandardSchema<Record<string, unknown>> = {
  "~standard": {
    version: 1,
    vendor: "signalbox",
    validate: (value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? { value: value as Record<string, unknown> }
        : { issues: [{ message: "has to be a mapping of options" }] },
  },
};

const TEXT = { type: "string" };
const WHOLE = { type: "integer", minimum: 1 };
const FLAG = { type: "boolean" };
const TEXTS = { type: "array", items: TEXT, minItems: 1 };
/** Texts by names. */
const RENAMED = { type: "object", additionalProperties: TEXT, minProperties: 1 };

/** The JSON Schema of options, for editors. Its properties are the names that a configuration may have. */
interface OptionsSchema {
  readonly properties: Readonly<Record<string, object>>;
}

function schemaOf(properties: OptionsSchema["properties"], required: readonly string[] = []): OptionsSchema {
  return Object.assign({ type: "object", required, additionalProperties: false }, { properties });
}

function shipped<Made>(
  type: string,
  description: string,
  schema: OptionsSchema,
  make: (name: string, options: never) => unknown,
): MadeType<Made> {
  const known = Object.keys(schema.properties);
  const create = (given: never, { name }: MadeFor): Made => {
    only("", given, known);
    return make(name, given) as Made;
  };
  return { type, description, config: OPTIONS, jsonSchema: schema, create };
}

const FILE = { path: TEXT, damaged: { enum: ["fail", "pass"] }, maxRecordBytes: WHOLE };

/**
 * The adapters that need no code, for `pipelineRegistry`: `filter`, `pick`, `drop`, `rename`, `set`, `split`, `collect`, `deduplicate`,
 * `throttle`, `http-request`, `write-json-lines`, `write-csv` and `give-up-damaged`.
 *
 * @example const registry = pipelineRegistry({ adapters: shippedAdapters, sources: shippedSources });
 */
export const shippedAdapters: readonly AdapterType[] = [
  shipped(
    "filter",
    "Lets messages pass for which a condition holds",
    schemaOf({ condition: { type: ["object", "array"] } }, ["condition"]),
    (name, { condition }: { readonly condition?: unknown }) => {
      if (typeof condition === "object" && condition !== null)
        return filter(name, condition as Condition<unknown>);
      const allowed = "a condition, { field, operator, value }, or a list of them";
      throw new OptionError("condition", condition, allowed);
    },
  ),
  shipped(
    "pick",
    "Keeps some fields, under new names if they are given",
    schemaOf({ fields: { anyOf: [TEXTS, RENAMED] } }, ["fields"]),
    pick,
  ),
  shipped("drop", "Leaves some fields out", schemaOf({ fields: TEXTS }, ["fields"]), drop),
  shipped("rename", "Gives fields other names", schemaOf({ fields: RENAMED }, ["fields"]), rename),
  shipped("set", "Sets fields to values", schemaOf({ fields: { type: "object" } }, ["fields"]), set),
  shipped("split", "Makes a message of each element of a list", schemaOf({ field: TEXT, as: TEXT }), split),
  shipped(
    "collect",
    "Makes one message of many: the list of their values",
    schemaOf({ size: WHOLE, bytes: WHOLE, everyMs: { type: "number" }, byKey: FLAG }),
    collect,
  ),
  shipped(
    "deduplicate",
    "Ends messages whose key was seen before",
    schemaOf({ field: TEXT }),
    (name, { field }: { readonly field?: string }) => {
      if (field === undefined) return deduplicate(name);
      const names = text("field", field).split(".");
      return deduplicate(name, { key: (value: unknown) => fieldOf(value, names) as string });
    },
  ),
  shipped(
    "throttle",
    "Lets messages pass at a rate",
    schemaOf({ permits: WHOLE, perMs: { type: "number" }, burst: WHOLE }, ["permits"]),
    throttle,
  ),
  shipped(
    "http-request",
    "Makes a request for each message, and goes on with its response",
    schemaOf(
      {
        url: TEXT,
        method: TEXT,
        headers: { type: "object" },
        send: FLAG,
        timeoutMs: WHOLE,
        attempts: WHOLE,
        maxBytes: WHOLE,
      },
      ["url"],
    ),
    (name, { send = false, ...options }: { readonly send?: boolean }) => {
      const body = flag("send", send) && { body: (value: unknown) => value };
      return httpRequest(name, { ...options, ...body } as never);
    },
  ),
  shipped(
    "write-json-lines",
    "Appends each message to a file as a line of JSON",
    schemaOf({ path: TEXT, sync: FLAG }, ["path"]),
    writeJsonLines,
  ),
  shipped(
    "write-csv",
    "Appends each message to a file as a CSV record",
    schemaOf({ path: TEXT, columns: { type: "array", items: TEXT }, delimiter: TEXT, sync: FLAG }, [
      "path",
      "columns",
    ]),
    writeCsv,
  ),
  adapterType({
    type: "give-up-damaged",
    description: "Puts records that a source could not read into the dead letters",
    create: () => giveUpDamaged(),
  }),
];

/**
 * The sources that need no code, for `pipelineRegistry`: `json-lines`, `csv` and `timer`.
 *
 * @example const registry = pipelineRegistry({ adapters: shippedAdapters, sources: shippedSources });
 */
export const shippedSources: readonly SourceType[] = [
  shipped("json-lines", "The lines of a JSON lines file", schemaOf(FILE, ["path"]), jsonLines),
  shipped(
    "csv",
    "The records of a CSV file",
    schemaOf({ ...FILE, columns: { type: "array", items: TEXT }, delimiter: TEXT, quote: TEXT }, ["path"]),
    csvRows,
  ),
  shipped(
    "timer",
    "A message every so often",
    schemaOf({ everyMs: { type: "number" }, times: WHOLE }, ["everyMs"]),
    timer,
  ),
];
