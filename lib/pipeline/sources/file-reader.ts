// Reads the records of a file from a place on, and notices when the place does not fit the file any more.

import { SOURCE_DEFAULTS } from "./defaults.js";
import { FileChangedError } from "./errors.js";
import { type OpenFile, openToRead } from "./node-files.js";
import { type FilePlace, type RawRecord, RecordSplitter, type SplitterConfig } from "./record-splitter.js";

/** The beginning of a file. */
export const FILE_START: FilePlace = { byte: 0, line: 0 };

const LF = 10;

/**
 * The records of a file, as many at a time as one read completes.
 *
 * @throws FileChangedError; the error of Node if the file cannot be read; the reason of the signal
 */
export async function* readRecords(
  path: string,
  config: SplitterConfig,
  from: FilePlace,
  signal: AbortSignal,
): AsyncGenerator<readonly RawRecord[]> {
  const file = await openToRead(path);
  try {
    await checkPlace(file, path, from);
    const splitter = new RecordSplitter(config, from);
    let at = from.byte;
    for (;;) {
      signal.throwIfAborted();
      // The splitter keeps what it needs of a chunk, so each read has a buffer of its own.
      const buffer = new Uint8Array(SOURCE_DEFAULTS.chunkBytes);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const records = splitter.push(buffer.subarray(0, bytesRead));
      if (records.length > 0) yield records;
    }
    await checkSize(file, path, at);
    const last = splitter.end();
    if (last.length > 0) yield last;
  } finally {
    await file.close();
  }
}

async function checkSize(file: OpenFile, path: string, read: number): Promise<number> {
  const { size } = await file.stat();
  if (size < read)
    throw new FileChangedError(path, `it has ${size} bytes, and ${read} bytes of it were read already`);
  return size;
}

/** A place is the beginning of the file, behind a line end, or its end. */
async function checkPlace(file: OpenFile, path: string, { byte }: FilePlace): Promise<void> {
  const size = await checkSize(file, path, byte);
  if (byte === 0 || byte === size) return;
  const before = new Uint8Array(1);
  await file.read(before, 0, 1, byte - 1);
  if (before[0] !== LF)
    throw new FileChangedError(path, `byte ${byte} was the end of its last line, and the line goes on now`);
}
