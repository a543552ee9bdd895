// A file that is appended to, and a second one beside it that says which messages it has: each line of the second is written after the
// lines of the first that it stands for. So a file that a kill has left half written can be mended: lines that the second does
// not list are cut off, and are written again when their messages come again.

import { type OpenFile, openToRead, openToWrite } from "../sources/node-files.js";
import { FileTornError } from "./errors.js";

/** Text that is written for a message. */
export interface LogEntry {
  /** Names the message: without line end. */
  readonly key: string;
  /** Whole lines, the last with its line end. */
  readonly text: string;
}

/** A file and its index, open. One process may have it open. */
export class AppendLog {
  readonly #file: OpenFile;
  readonly #index: OpenFile;
  readonly #written: Set<string>;
  readonly #sync: boolean;
  /** How many bytes of the file and of its index are whole. */
  #size: number;
  #indexSize: number;

  private constructor(
    file: OpenFile,
    index: OpenFile,
    state: { readonly written: Set<string>; readonly size: number; readonly indexSize: number },
    sync: boolean,
  ) {
    this.#file = file;
    this.#index = index;
    this.#written = state.written;
    this.#size = state.size;
    this.#indexSize = state.indexSize;
    this.#sync = sync;
  }

  /**
   * Opens a file, and cuts off what a kill has left half written.
   *
   * @param header - the beginning of a file that is empty
   * @param sync - whether each write waits for the disk
   * @throws FileTornError; errors of Node
   */
  static async open(path: string, header: string, sync: boolean): Promise<AppendLog> {
    const file = await openToWrite(path);
    let index: OpenFile | undefined;
    try {
      index = await openToWrite(indexPathOf(path));
      const known = await readIndex(path);
      const { size } = await file.stat();
      if (known === undefined && size > 0)
        throw new FileTornError(path, `has ${size} bytes, and nothing beside it says of which messages`);
      if (known !== undefined && size < known.size)
        throw new FileTornError(path, `has ${size} bytes, and ${known.size} bytes were written`);
      const log = new AppendLog(file, index, known ?? { written: new Set(), size: 0, indexSize: 0 }, sync);
      await log.#cut();
      // The index comes first: a kill between the two leaves a file that is known to be empty.
      if (known === undefined) await log.#write(new Uint8Array(0), []);
      if (log.#size === 0 && header !== "") await log.#write(new TextEncoder().encode(header), []);
      return log;
    } catch (error) {
      await index?.close();
      await file.close();
      throw error;
    }
  }

  /** Whether the message was written. */
  has(key: string): boolean {
    return this.#written.has(key);
  }

  /** Writes what was not written yet, in one go. When it fails, nothing of it counts. */
  async append(entries: readonly LogEntry[]): Promise<void> {
    const fresh = new Map<string, string>();
    for (const { key, text } of entries) if (!this.#written.has(key)) fresh.set(key, text);
    if (fresh.size === 0) return;
    const bytes = new TextEncoder().encode([...fresh.values()].join(""));
    try {
      await this.#write(bytes, [...fresh.keys()]);
    } catch (error) {
      // The next append overwrites what was written in part; so does the next opening, if this one fails.
      await this.#cut().catch(() => undefined);
      throw error;
    }
    for (const key of fresh.keys()) this.#written.add(key);
  }

  async close(): Promise<void> {
    await this.#index.close();
    await this.#file.close();
  }

  async #write(bytes: Uint8Array, keys: readonly string[]): Promise<void> {
    await writeAt(this.#file, bytes, this.#size);
    if (this.#sync) await this.#file.datasync();
    const size = this.#size + bytes.length;
    const line = new TextEncoder().encode(`${JSON.stringify([size, ...keys])}\n`);
    await writeAt(this.#index, line, this.#indexSize);
    if (this.#sync) await this.#index.datasync();
    this.#size = size;
    this.#indexSize += line.length;
  }

  async #cut(): Promise<void> {
    await this.#file.truncate(this.#size);
    await this.#index.truncate(this.#indexSize);
  }
}

/** The file beside a file that says which messages it has. */
export function indexPathOf(path: string): string {
  return `${path}.written`;
}

/** A write may be short. */
async function writeAt(file: OpenFile, bytes: Uint8Array, from: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, from + done);
    done += bytesWritten;
  }
}

interface Index {
  readonly written: Set<string>;
  readonly size: number;
  readonly indexSize: number;
}

/** Undefined: there is none yet. A last line that a kill has cut short does not count. */
async function readIndex(path: string): Promise<Index | undefined> {
  const place = indexPathOf(path);
  const file = await openToRead(place);
  try {
    const bytes = await file.readFile();
    const indexSize = bytes.lastIndexOf(10) + 1;
    if (indexSize === 0) return undefined;
    const written = new Set<string>();
    let size = 0;
    for (const line of new TextDecoder().decode(bytes.subarray(0, indexSize - 1)).split("\n")) {
      const [end, ...keys] = entryOf(line) ?? [];
      if (end === undefined || end < size) throw new FileTornError(place, "is no index of written messages");
      size = end;
      for (const key of keys) written.add(key);
    }
    return { written, size, indexSize };
  } finally {
    await file.close();
  }
}

function entryOf(line: string): [number, ...string[]] | undefined {
  try {
    const given: unknown = JSON.parse(line);
    if (Array.isArray(given) && Number.isSafeInteger(given[0])) return given as [number, ...string[]];
  } catch {
    // No index.
  }
  return undefined;
}
