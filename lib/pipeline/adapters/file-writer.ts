// Appends each message to a file: as a line of JSON, or as a CSV record, written by csv-stringify (an optional peer).

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { flag, text } from "../../process/options.js";
import { PackageMissingError } from "../../process/package-missing.js";
import type { Adapter } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";
import { AppendLog, type LogEntry } from "./append-log.js";
import { ADAPTER_DEFAULTS } from "./defaults.js";
import { UnwritableError } from "./errors.js";

/** Options of adapters that write a file. */
export interface WriterOptions {
  /** The file. It is created where there is none; a file that no such adapter wrote is refused. */
  readonly path: string;
  /** Each write waits for the disk, so that it survives a loss of power. Without it, it survives a kill. Default false. */
  readonly sync?: boolean;
}

/** Options of {@link writeCsv}. */
export interface CsvWriterOptions<T> extends WriterOptions {
  /** The columns, in their order: names of the value's fields. The first record of the file has the names. */
  readonly columns: readonly (keyof T & string)[];
  /** Divides the fields. Default `,`. */
  readonly delimiter?: string;
}

/** Makes the text of a value. @throws UnwritableError */
type Format = (value: unknown) => string;

/**
 * Appends each message to a file as a line of JSON, and passes it on. Messages that come together are written together.
 *
 * A message is in the file once, however often it is tried: beside the file is a second one, `….written`, with the ids that the file has;
 * they are in memory while the file is open, some hundred bytes a message. After a kill the adapter cuts off a line that was written in
 * part. One process at a time writes a file.
 *
 * @throws OptionError
 * @example
 * const report = route("report", { from: queue<{ total: number }>("totals"), concurrency: 50 })
 *   .via(writeJsonLines("write", { path: "totals.jsonl" }));
 */
export function writeJsonLines<T>(name: string, options: WriterOptions): Adapter<T, T> {
  only("", options, ["path", "sync"]);
  return writer(name, options, async () => ({
    header: "",
    format: (value) => {
      const line = jsonOf(name, value);
      if (line === undefined) throw new UnwritableError(name, "the value is no JSON");
      return `${line}\n`;
    },
  }));
}

/**
 * Appends each message to a file as a CSV record, and passes it on; otherwise as {@link writeJsonLines}. Texts are written as they are,
 * numbers and booleans as texts, null and undefined as nothing, and other values as JSON.
 *
 * @throws OptionError; its first message fails with PackageMissingError when `csv-stringify` is not installed
 * @example
 * const report = writeCsv<{ airport: string; strikes: number }>("write", {
 *   path: "strikes.csv",
 *   columns: ["airport", "strikes"],
 * });
 */
export function writeCsv<T extends object>(name: string, options: CsvWriterOptions<T>): Adapter<T, T> {
  only("", options, ["path", "sync", "columns", "delimiter"]);
  const { columns, delimiter = "," } = options;
  if (!Array.isArray(columns) || columns.length === 0 || new Set(columns).size < columns.length)
    throw new OptionError("columns", columns, "a list of names, each once");
  for (const [i, column] of columns.entries()) text(`columns[${i}]`, column);
  text("delimiter", delimiter);
  return writer(name, options, async () => {
    const stringify = await loadStringify();
    const record = (fields: readonly string[]): string => stringify([fields as string[]], { delimiter });
    return {
      header: record(columns),
      format: (value) => {
        if (typeof value !== "object" || value === null)
          throw new UnwritableError(name, "the value is no object");
        return record(columns.map((column) => fieldOf(name, (value as Record<string, unknown>)[column])));
      },
    };
  });
}

function fieldOf(name: string, value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : (jsonOf(name, value) ?? "");
}

function jsonOf(name: string, value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new UnwritableError(name, "the value is no JSON", error);
  }
}

interface RecordLayout {
  readonly header: string;
  readonly format: Format;
}

function writer<T>(
  name: string,
  { path, sync = false }: WriterOptions,
  layout: () => Promise<RecordLayout>,
): Adapter<T, T> {
  checkName("name", name);
  text("path", path);
  flag("sync", sync);
  let closing: Promise<void> | undefined;
  const open = async (): Promise<Writer> => {
    // Another execution may have ended with this adapter just now.
    await closing;
    const { header, format } = await layout();
    return new Writer(await AppendLog.open(path, header, sync), format);
  };
  let writing: Promise<Writer> | undefined;
  return {
    name,
    async process(value, ctx) {
      // A file that could not be opened is opened anew with the next attempt.
      writing ??= open().catch((error: unknown) => {
        writing = undefined;
        throw error;
      });
      const to = await writing;
      await to.write(ctx.idempotencyKey, value);
      return value;
    },
    async close() {
      const last = writing;
      writing = undefined;
      closing = (async () => (await last?.catch(() => undefined))?.close())();
      await closing;
    },
  };
}

interface Waiting extends LogEntry {
  readonly settle: (error: unknown) => void;
}

/** Writes together all values that came while a write was in flight. */
class Writer {
  readonly #log: AppendLog;
  readonly #format: Format;
  #waiting: Waiting[] = [];
  #working: Promise<void> | undefined;

  constructor(log: AppendLog, format: Format) {
    this.#log = log;
    this.#format = format;
  }

  async write(key: string, value: unknown): Promise<void> {
    if (this.#log.has(key)) return;
    const text = this.#format(value);
    await new Promise<void>((resolve, reject) => {
      const settle = (error: unknown): void => (error === undefined ? resolve() : reject(error));
      this.#waiting.push({ key, text, settle });
      this.#working ??= this.#work();
    });
  }

  async #work(): Promise<void> {
    // All that comes in this turn belongs to the first write.
    await undefined;
    while (this.#waiting.length > 0) {
      const now = this.#waiting.splice(0, ADAPTER_DEFAULTS.writeAtOnce);
      let failure: unknown;
      try {
        await this.#log.append(now);
      } catch (error) {
        failure = error;
      }
      for (const { settle } of now) settle(failure);
    }
    this.#working = undefined;
  }

  async close(): Promise<void> {
    await this.#working;
    await this.#log.close();
  }
}

type Stringify = typeof import("csv-stringify/sync")["stringify"];

/** @internal Loads csv-stringify. @throws PackageMissingError */
export async function loadStringify(
  load: () => Promise<typeof import("csv-stringify/sync")> = () => import("csv-stringify/sync"),
): Promise<Stringify> {
  const { stringify } = await load().catch((error: unknown) => {
    throw new PackageMissingError("csv-stringify", "^6.5.0", "an adapter that writes CSV files", error);
  });
  return stringify;
}
