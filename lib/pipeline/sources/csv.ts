// A source of CSV records, read by csv-parse (an optional peer). record-splitter.ts decides which bytes are a record, so that the
// checkpoint is exact and a damaged record stays alone; csv-parse reads its fields.

import type { Options } from "csv-parse/sync";
import { OptionError } from "../../process/errors.js";
import { PackageMissingError } from "../../process/package-missing.js";
import type { Source, SourceContext, Sourced } from "../definition/source.js";
import { DamagedRecordError } from "./errors.js";
import {
  asciiOption,
  checkFile,
  type DamagedRecord,
  type FileOptions,
  type FileSettings,
  fileOf,
  messageOf,
  placeOf,
  type Reading,
  textOf,
} from "./file-options.js";
import { FILE_START, readRecords } from "./file-reader.js";
import type { FilePlace, RawRecord, SplitterConfig } from "./record-splitter.js";

/** Options of {@link csvRows}. */
export interface CsvOptions<T> extends FileOptions<T> {
  /** The names of the columns. Default: the first record of the file has them. */
  readonly columns?: readonly string[];
  /** Divides the fields: one ASCII character. Default `,`. */
  readonly delimiter?: string;
  /** Quotes a field; doubled, it stands for itself. One ASCII character. Default `"`. */
  readonly quote?: string;
}

/** A record of a CSV file: each column's text. */
export type CsvRow = Readonly<Record<string, string>>;

type Parser = typeof import("csv-parse/sync")["parse"];

/** Reads fields with the options of the source. */
type Fields = (texts: readonly string[]) => readonly Reading[];

/**
 * A source of the records of a CSV file as RFC 4180 has it, in UTF-8 with or without a byte order mark: an object of texts each, or what
 * `schema` makes of it. Quoted fields may hold line ends. The checkpoint is the place behind a record.
 *
 * A record with too few or too many fields, or with quotes in a wrong place, is damaged. A quote that never closes damages one line.
 *
 * @throws OptionError; its iteration throws PackageMissingError when `csv-parse` is not installed
 * @example
 * const airports = feed(csvRows("airports", { path: "airports.csv" }), queue<CsvRow>("airports"));
 */
export function csvRows<T = CsvRow>(
  name: string,
  options: CsvOptions<T> & { readonly damaged: "pass" },
): Source<T | DamagedRecord, FilePlace>;
export function csvRows<T = CsvRow>(name: string, options: CsvOptions<T>): Source<T, FilePlace>;
export function csvRows<T = CsvRow>(name: string, options: CsvOptions<T>): Source<T, FilePlace> {
  const settings = checkFile(name, options, ["columns", "delimiter", "quote"]);
  const { columns, delimiter = ",", quote = '"' } = options;
  if (columns !== undefined) checkColumns(columns, (what) => new OptionError("columns", columns, what));
  const csv = { delimiter: asciiOption("delimiter", delimiter), quote: asciiOption("quote", quote) };
  if (delimiter === quote) throw new OptionError("quote", quote, "unlike the delimiter");
  const config: SplitterConfig = { csv, maxBytes: settings.maxBytes };
  return {
    name,
    async *open(ctx): AsyncGenerator<Sourced<T, FilePlace>> {
      const parser = await loadParser();
      const fields = fieldsBy(parser, { delimiter, quote });
      yield* rows(settings, config, columns, fields, ctx);
    },
  };
}

async function* rows<T>(
  settings: FileSettings<T>,
  config: SplitterConfig,
  given: readonly string[] | undefined,
  fields: Fields,
  ctx: SourceContext<FilePlace>,
): AsyncGenerator<Sourced<T, FilePlace>> {
  const file = fileOf(settings, ctx.input);
  let from = placeOf(ctx.checkpoint) ?? FILE_START;
  let columns = given;
  if (columns === undefined) {
    const header = await headerOf(file, config, fields, ctx.signal);
    if (header === undefined) return;
    columns = header.columns;
    if (from.byte < header.to.byte) from = header.to;
  }
  for await (const records of readRecords(file, config, from, ctx.signal)) {
    const texts = records.map((record) => (record.damage === undefined ? textOf(record) : undefined));
    const whole = fields(texts.filter((text) => text !== undefined));
    let next = 0;
    for (const [i, record] of records.entries()) {
      const reading: Reading =
        texts[i] === undefined
          ? { damage: record.damage ?? "no UTF-8" }
          : row(columns, whole[next++] as Reading);
      yield messageOf(settings, file, record, reading);
    }
  }
}

interface Header {
  readonly columns: readonly string[];
  readonly to: FilePlace;
}

/** The first record of a file. Undefined: the file is empty. @throws DamagedRecordError */
async function headerOf(
  file: string,
  config: SplitterConfig,
  fields: Fields,
  signal: AbortSignal,
): Promise<Header | undefined> {
  for await (const [record] of readRecords(file, config, FILE_START, signal)) {
    if (record === undefined) continue;
    return { columns: headerColumns(file, record, fields), to: record.to };
  }
  return undefined;
}

/** @throws DamagedRecordError */
function headerColumns(file: string, record: RawRecord, fields: Fields): readonly string[] {
  const refuse = (what: string): Error =>
    new DamagedRecordError(file, record.from.line + 1, `the names of the columns: ${what}`);
  const text = record.damage === undefined ? textOf(record) : undefined;
  if (text === undefined) throw refuse(record.damage ?? "no UTF-8");
  const [reading] = fields([text]);
  if (reading === undefined || "damage" in reading) throw refuse(reading?.damage ?? "none");
  const columns = reading.value as readonly string[];
  checkColumns(columns, (what) => refuse(`they have to be ${what}`));
  return columns;
}

function checkColumns(columns: unknown, error: (what: string) => Error): void {
  const what = "a list of texts that are not empty, each once";
  if (!Array.isArray(columns) || columns.length === 0) throw error(what);
  if (columns.some((column) => typeof column !== "string" || column === "")) throw error(what);
  if (new Set(columns).size < columns.length) throw error(what);
}

function row(columns: readonly string[], reading: Reading): Reading {
  if ("damage" in reading) return reading;
  const values = reading.value as readonly string[];
  if (values.length !== columns.length)
    return { damage: `${values.length} fields, and there are ${columns.length} columns` };
  // Own properties only, also for a column that is called __proto__.
  return { value: Object.fromEntries(columns.map((column, i) => [column, values[i]])) };
}

/** Reads many records at once; one by one, if one of them is damaged. */
function fieldsBy(parser: Parser, { delimiter, quote }: { delimiter: string; quote: string }): Fields {
  const options: Options = {
    delimiter,
    quote,
    escape: quote,
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
  };
  const one = (text: string): Reading => {
    try {
      const [value = [""], ...more] = parser(text, options) as string[][];
      return more.length === 0 ? { value } : { damage: "more than one record" };
    } catch (error) {
      return { damage: (error as Error).message };
    }
  };
  return (texts) => {
    try {
      const all = parser(texts.join("\n"), options) as string[][];
      if (all.length === texts.length) return all.map((value) => ({ value }));
    } catch {
      // One by one.
    }
    return texts.map(one);
  };
}

/** @internal Loads csv-parse. @throws PackageMissingError */
export async function loadParser(
  load: () => Promise<typeof import("csv-parse/sync")> = () => import("csv-parse/sync"),
): Promise<Parser> {
  const { parse } = await load().catch((error: unknown) => {
    throw new PackageMissingError("csv-parse", "^7.0.0", "a source of CSV files", error);
  });
  return parse;
}
