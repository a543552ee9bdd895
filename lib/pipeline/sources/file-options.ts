// Shared by sources that read files: their options, and the handling of records that cannot be read.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, oneOf, text } from "../../process/options.js";
import {
  pathOf,
  type SchemaIssue,
  type StandardSchema,
  schemaOption,
  validated,
} from "../../process/standard-schema.js";
import { checkName } from "../definition/queue.js";
import type { Sourced } from "../definition/source.js";
import { SOURCE_DEFAULTS } from "./defaults.js";
import { DamagedRecordError } from "./errors.js";
import type { FilePlace, RawRecord } from "./record-splitter.js";
import { keyOption, sourced } from "./values.js";

/** A record that could not be read, as a message. See {@link giveUpDamaged}. */
export interface DamagedRecord {
  /** Why it could not be read. */
  readonly $damaged: string;
  /** The file, as the source was given it. */
  readonly file: string;
  /** The line on which it begins, from 1. */
  readonly line: number;
  /** Its first bytes as text. */
  readonly text: string;
}

/** Options of sources that read a file. */
export interface FileOptions<T> {
  /** The file; or a function that gives it, of the execution's input. */
  readonly path: string | ((input: never) => string);
  /** Checks each record; its output is the message. Any Standard Schema. */
  readonly schema?: StandardSchema<T>;
  /** Gives the key of each message. Default: it has none. */
  readonly key?: (value: T) => string | undefined;
  /**
   * A record that cannot be read: `fail` fails the execution, and `pass` passes a {@link DamagedRecord} on, which an adapter puts into
   * the dead letters. Default `fail`.
   */
  readonly damaged?: "fail" | "pass";
  /** Most bytes of a record, its line end included; a longer one is damaged. Default 1,048,576. */
  readonly maxRecordBytes?: number;
}

/** Options of a file, checked. */
export interface FileSettings<T> {
  readonly path: string | ((input: never) => string);
  readonly schema: StandardSchema<T> | undefined;
  readonly key: ((value: T) => string | undefined) | undefined;
  readonly passes: boolean;
  readonly maxBytes: number;
}

const KNOWN = ["path", "schema", "key", "damaged", "maxRecordBytes"];

/** @throws OptionError */
export function checkFile<T>(
  name: string,
  given: FileOptions<T>,
  more: readonly string[] = [],
): FileSettings<T> {
  checkName("name", name);
  only("", given, [...KNOWN, ...more]);
  const { path, schema, damaged = "fail" } = given;
  if (typeof path !== "function") text("path", path);
  return {
    path,
    schema: schema === undefined ? undefined : schemaOption("schema", schema),
    key: keyOption(given.key),
    passes: oneOf("damaged", damaged, ["fail", "pass"]) === "pass",
    maxBytes: count("maxRecordBytes", given.maxRecordBytes ?? SOURCE_DEFAULTS.maxRecordBytes, 1),
  };
}

/** The path for an execution. @throws OptionError */
export function fileOf({ path }: Pick<FileSettings<unknown>, "path">, input: unknown): string {
  return typeof path === "function" ? text("path", path(input as never)) : path;
}

/** A place that a checkpoint holds. @throws OptionError when it is no place of a file */
export function placeOf(checkpoint: FilePlace | undefined): FilePlace | undefined {
  if (checkpoint === undefined) return undefined;
  count("checkpoint.byte", checkpoint?.byte, 0);
  count("checkpoint.line", checkpoint?.line, 0);
  return checkpoint;
}

/** The value of a record, or why it could not be read. */
export type Reading = { readonly value: unknown } | { readonly damage: string };

/** The message of a record. @throws DamagedRecordError */
export function messageOf<T>(
  settings: FileSettings<T>,
  file: string,
  record: RawRecord,
  reading: Reading,
): Sourced<T, FilePlace> | Promise<Sourced<T, FilePlace>> {
  const { schema, key } = settings;
  if ("damage" in reading) return damagedMessage(settings, file, record, reading.damage);
  if (schema === undefined) return sourced(reading.value as T, record.to, key);
  const refused = (error: unknown): Sourced<T, FilePlace> => {
    if (error instanceof Refused) return damagedMessage(settings, file, record, error.message);
    throw error;
  };
  try {
    const checked = validated(schema, reading.value, (issues) => new Refused(shown(issues)));
    if (checked instanceof Promise) return checked.then((value) => sourced(value, record.to, key), refused);
    return sourced(checked, record.to, key);
  } catch (error) {
    return refused(error);
  }
}

/** A schema refuses a record. */
class Refused extends Error {}

function shown(issues: readonly SchemaIssue[]): string {
  return issues
    .map((issue) => {
      const path = pathOf(issue).map(String).join(".");
      return path === "" ? issue.message : `${path}: ${issue.message}`;
    })
    .join("; ");
}

function damagedMessage<T>(
  { passes }: FileSettings<T>,
  file: string,
  { from, to, bytes }: RawRecord,
  reason: string,
): Sourced<T, FilePlace> {
  const line = from.line + 1;
  if (!passes) throw new DamagedRecordError(file, line, reason);
  const head = new TextDecoder().decode(bytes.subarray(0, SOURCE_DEFAULTS.damageBytes));
  const value: DamagedRecord = { $damaged: reason, file, line, text: head };
  return { value: value as T, checkpoint: to };
}

/** The text of a record, or undefined if it is no UTF-8. */
export function textOf({ bytes }: RawRecord): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Whether a message is a record that could not be read. */
export function isDamaged(value: unknown): value is DamagedRecord {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "$damaged");
}

/** @throws OptionError */
export function asciiOption(path: string, given: unknown): number {
  if (typeof given === "string" && given.length === 1 && given !== "\n" && given !== "\r" && given < "\u0080")
    return given.charCodeAt(0);
  throw new OptionError(path, given, "one ASCII character, and no line end");
}
