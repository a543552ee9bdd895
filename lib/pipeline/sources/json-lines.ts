// A source of JSON lines: one JSON value on each line of a file.

import type { Source, Sourced } from "../definition/source.js";
import {
  checkFile,
  type DamagedRecord,
  type FileOptions,
  fileOf,
  messageOf,
  placeOf,
  type Reading,
  textOf,
} from "./file-options.js";
import { FILE_START, readRecords } from "./file-reader.js";
import type { FilePlace, RawRecord } from "./record-splitter.js";

/**
 * A source of the lines of a JSON lines file, in UTF-8 with or without a byte order mark. Empty lines are skipped, and the last line
 * may lack its line end. The checkpoint is the place behind a line, so an interrupted execution goes on at the next line.
 *
 * @throws OptionError
 * @see https://jsonlines.org
 * @example
 * interface Strike { readonly airport: string; readonly species: string }
 * const strikes = feed(jsonLines<Strike>("strikes", { path: "strikes.jsonl" }), queue<Strike>("strikes"));
 */
export function jsonLines<T>(
  name: string,
  options: FileOptions<T> & { readonly damaged: "pass" },
): Source<T | DamagedRecord, FilePlace>;
export function jsonLines<T>(name: string, options: FileOptions<T>): Source<T, FilePlace>;
export function jsonLines<T>(name: string, options: FileOptions<T>): Source<T, FilePlace> {
  const settings = checkFile(name, options);
  return {
    name,
    async *open(ctx): AsyncGenerator<Sourced<T, FilePlace>> {
      const file = fileOf(settings, ctx.input);
      const from = placeOf(ctx.checkpoint) ?? FILE_START;
      const config = { csv: undefined, maxBytes: settings.maxBytes };
      for await (const records of readRecords(file, config, from, ctx.signal)) {
        for (const record of records) {
          const reading = read(record);
          if (reading !== undefined) yield messageOf(settings, file, record, reading);
        }
      }
    },
  };
}

/** Undefined: the line is blank. */
function read(record: RawRecord): Reading | undefined {
  if (record.damage !== undefined) return { damage: record.damage };
  const text = textOf(record);
  if (text === undefined) return { damage: "no UTF-8" };
  if (text.trim() === "") return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { damage: `no JSON: ${(error as Error).message}` };
  }
}
