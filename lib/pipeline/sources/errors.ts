// Errors of sources.

import { SignalboxError } from "../../process/errors.js";

/**
 * A record of a file cannot be read: the line is no JSON, a CSV record has too few fields, a schema refuses it. The execution fails.
 *
 * @remedy Mend the line that the message names. Or let the source pass damaged records on with `damaged: "pass"`, and put
 *   `giveUpDamaged()` behind it: then they become dead letters, and the others go on.
 */
export class DamagedRecordError extends SignalboxError {
  static override readonly name: string = "DamagedRecordError";
  readonly code = "ERR_PIPELINE_DAMAGED_RECORD";
  /** The same record comes again at every attempt. */
  readonly retriable = false;
  /** @param line - counts from 1 */
  constructor(file: string, line: number, reason: string) {
    super(`${file}, line ${line}: ${reason}`);
  }
}

/**
 * A file has changed since the execution has read it, so that its checkpoint does not fit any more: it is shorter, or its last line
 * has grown. Lines that are appended are no such change.
 *
 * @remedy Put the file back as it was, and resume the execution. Or cancel it, and start one with the new file.
 */
export class FileChangedError extends SignalboxError {
  static override readonly name: string = "FileChangedError";
  readonly code = "ERR_PIPELINE_FILE_CHANGED";
  /** The same happens at every attempt. */
  readonly retriable = false;
  constructor(file: string, what: string) {
    super(`${file} has changed while it was read: ${what}`);
  }
}
