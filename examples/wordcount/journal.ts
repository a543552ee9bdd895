// A file that records are only ever appended to, for a program that may be killed at any moment. Each record is a line of
// JSON: of a record that was cut in the middle, the rest is no JSON, so it counts as not written.

import { appendFileSync, closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";

const LINE_FEED = 10;

/**
 * A journal that several programs may append to at the same time: the one that a host has started, and the one before it,
 * which may not have noticed yet that its host is gone. All of them see the same records in the same order.
 */
export class Journal<T> {
  readonly #file: number;
  readonly #onRecord: (record: T) => void;
  /** Bytes that were read, up to the end of a line. */
  #read = 0;

  /** Opens the file, or creates it, and reads its records. */
  constructor(path: string, onRecord: (record: T) => void) {
    this.#file = openSync(path, "a+");
    this.#onRecord = onRecord;
    this.#readOn();
    // The end of a record that was cut, so that the next one begins a line.
    if (fstatSync(this.#file).size > this.#read) appendFileSync(this.#file, "\n");
  }

  /** Appends a record. When this returns, `onRecord` has been called with it, and with all records before it. */
  append(record: T): void {
    appendFileSync(this.#file, `${JSON.stringify(record)}\n`);
    this.#readOn();
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #readOn(): void {
    const bytes = Buffer.alloc(fstatSync(this.#file).size - this.#read);
    const end = bytes.lastIndexOf(LINE_FEED, readSync(this.#file, bytes, 0, bytes.length, this.#read)) + 1;
    this.#read += end;
    for (const record of recordsIn<T>(bytes.toString("utf8", 0, end))) this.#onRecord(record);
  }
}

/** The journals of a folder that a program appends to without reading them. Each is opened with its first record. */
export class Journals {
  readonly #folderOf: () => string;
  readonly #open = new Map<string, Journal<unknown>>();

  constructor(folderOf: () => string) {
    this.#folderOf = folderOf;
  }

  append(name: string, record: unknown): void {
    const journal = this.#open.get(name) ?? new Journal(join(this.#folderOf(), name), () => undefined);
    this.#open.set(name, journal);
    journal.append(record);
  }
}

/** The folder that is named by an environment variable, which `signalbox storm export` sets by `--env`. */
export function folderIn(variable: string): string {
  const folder = process.env[variable];
  if (folder === undefined) throw new Error(`${variable} is not set: give it to the export by --env`);
  return folder;
}

/** The records of a journal that nobody appends to, or of none when there is no file. */
export function readJournal<T>(path: string): readonly T[] {
  try {
    return recordsIn<T>(readFileSync(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function recordsIn<T>(text: string): T[] {
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return [];
    }
  });
}
