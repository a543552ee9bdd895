// The adapters and sources that come with the library, as types that files can name: those that need no code.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";
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
import { type AdapterType, adapterType, type SourceType, sourceType } from "./registry.js";
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

/** The JSON Schema of options, for editors. */
function schemaOf(properties: Readonly<Record<string, object>>, required: readonly string[] = []): object {
  return { type: "object", properties, required, additionalProperties: false };
}

const FILE = { path: TEXT, damaged: { enum: ["fail", "pass"] }, maxRecordBytes: WHOLE };

/**
 * The adapters that need no code, for `pipelineRegistry`: `filter`, `pick`, `drop`, `rename`, `set`, `split`, `collect`, `deduplicate`,
 * `throttle`, `http-request`, `write-json-lines`, `write-csv` and `give-up-damaged`.
 *
 * @example const registry = pipelineRegistry({ adapters: shippedAdapters, sources: shippedSources });
 */
export const shippedAdapters: readonly AdapterType[] = [
  adapterType({
    type: "filter",
    description: "Lets messages pass for which a condition holds",
    config: OPTIONS,
    jsonSchema: schemaOf({ condition: { type: ["object", "array"] } }, ["condition"]),
    create: (given, { name }) => {
      only("", given, ["condition"]);
      const { condition } = given as { readonly condition?: unknown };
      if (typeof condition !== "object" || condition === null)
        throw new OptionError(
          "condition",
          condition,
          "a condition, { field, operator, value }, or a list of them",
        );
      return filter(name, condition as Condition<unknown>);
    },
  }),
  adapterType({
    type: "pick",
    description: "Keeps some fields, under new names if they are given",
    config: OPTIONS,
    jsonSchema: schemaOf({ fields: { anyOf: [TEXTS, RENAMED] } }, ["fields"]),
    create: (given, { name }) => pick(name, given),
  }),
  adapterType({
    type: "drop",
    description: "Leaves some fields out",
    config: OPTIONS,
    jsonSchema: schemaOf({ fields: TEXTS }, ["fields"]),
    create: (given, { name }) => drop(name, given),
  }),
  adapterType({
    type: "rename",
    description: "Gives fields other names",
    config: OPTIONS,
    jsonSchema: schemaOf({ fields: RENAMED }, ["fields"]),
    create: (given, { name }) => rename(name, given),
  }),
  adapterType({
    type: "set",
    description: "Sets fields to values",
    config: OPTIONS,
    jsonSchema: schemaOf({ fields: { type: "object" } }, ["fields"]),
    create: (given, { name }) => set(name, given),
  }),
  adapterType({
    type: "split",
    description: "Makes a message of each element of a list",
    config: OPTIONS,
    jsonSchema: schemaOf({ field: TEXT, as: TEXT }),
    create: (given, { name }) => split(name, given),
  }),
  adapterType({
    type: "collect",
    description: "Makes one message of many: the list of their values",
    config: OPTIONS,
    jsonSchema: schemaOf({ size: WHOLE, bytes: WHOLE, everyMs: { type: "number" }, byKey: FLAG }),
    create: (given, { name }) => collect(name, given),
  }),
  adapterType({
    type: "deduplicate",
    description: "Ends messages whose key was seen before",
    config: OPTIONS,
    jsonSchema: schemaOf({ field: TEXT }),
    create: (given, { name }) => {
      only("", given, ["field"]);
      const { field } = given as { readonly field?: string };
      if (field === undefined) return deduplicate(name);
      const names = text("field", field).split(".");
      return deduplicate(name, { key: (value: unknown) => fieldOf(value, names) as string });
    },
  }),
  adapterType({
    type: "throttle",
    description: "Lets messages pass at a rate",
    config: OPTIONS,
    jsonSchema: schemaOf({ permits: WHOLE, perMs: { type: "number" }, burst: WHOLE }, ["permits"]),
    create: (given, { name }) => throttle(name, given as never),
  }),
  adapterType({
    type: "http-request",
    description: "Makes a request for each message, and goes on with its response",
    config: OPTIONS,
    jsonSchema: schemaOf(
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
    create: (given, { name }) => {
      only("", given, ["url", "method", "headers", "send", "timeoutMs", "attempts", "maxBytes"]);
      const { send, ...options } = given;
      if (send !== undefined && typeof send !== "boolean")
        throw new OptionError("send", send, "true or false");
      return httpRequest(name, {
        ...options,
        ...(send === true && { body: (value: unknown) => value }),
      } as never);
    },
  }),
  adapterType({
    type: "write-json-lines",
    description: "Appends each message to a file as a line of JSON",
    config: OPTIONS,
    jsonSchema: schemaOf({ path: TEXT, sync: FLAG }, ["path"]),
    create: (given, { name }) => writeJsonLines(name, given as never),
  }),
  adapterType({
    type: "write-csv",
    description: "Appends each message to a file as a CSV record",
    config: OPTIONS,
    jsonSchema: schemaOf(
      { path: TEXT, columns: { type: "array", items: TEXT }, delimiter: TEXT, sync: FLAG },
      ["path", "columns"],
    ),
    create: (given, { name }) => writeCsv(name, given as never),
  }),
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
  sourceType({
    type: "json-lines",
    description: "The lines of a JSON lines file",
    config: OPTIONS,
    jsonSchema: schemaOf(FILE, ["path"]),
    create: (given, { name }) => jsonLines(name, given as never),
  }),
  sourceType({
    type: "csv",
    description: "The records of a CSV file",
    config: OPTIONS,
    jsonSchema: schemaOf({ ...FILE, columns: { type: "array", items: TEXT }, delimiter: TEXT, quote: TEXT }, [
      "path",
    ]),
    create: (given, { name }) => csvRows(name, given as never),
  }),
  sourceType({
    type: "timer",
    description: "A message every so often",
    config: OPTIONS,
    jsonSchema: schemaOf({ everyMs: { type: "number" }, times: WHOLE }, ["everyMs"]),
    create: (given, { name }) => {
      only("", given, ["everyMs", "times"]);
      return timer(name, given as never);
    },
  }),
];
