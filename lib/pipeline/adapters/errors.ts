// Errors of the adapters that come with the library.

import { SignalboxError } from "../../process/errors.js";

/**
 * A file that an adapter is to append to is not as the adapter has left it: it is shorter, or was written by something else. Each output
 * file has a second one beside it, called `….written`, which says which messages it has.
 *
 * @remedy Put both files back as they were. Or give the adapter a path at which there is no file; or remove both, and replay the messages.
 */
export class FileTornError extends SignalboxError {
  static override readonly name: string = "FileTornError";
  readonly code = "ERR_PIPELINE_FILE_TORN";
  constructor(file: string, what: string) {
    super(`${file} ${what}`);
  }
}

/**
 * A value cannot be written: it is no JSON, or lacks a column. The message is a dead letter.
 *
 * @remedy Let the adapter in front give plain data; or mend `columns`, which name what is written.
 */
export class UnwritableError extends SignalboxError {
  static override readonly name: string = "UnwritableError";
  readonly code = "ERR_PIPELINE_UNWRITABLE";
  /** The same value comes again at every attempt. */
  readonly retriable = false;
  constructor(adapter: string, what: string, cause?: unknown) {
    super(`${adapter}: ${what}`, cause === undefined ? undefined : { cause });
  }
}

/**
 * A tree of tuples that came of a message has failed in its topology, after the retries that its spout makes.
 *
 * @remedy See what the bolts of the topology report; the message is tried again as its route says.
 */
export class TupleFailedError extends SignalboxError {
  static override readonly name: string = "TupleFailedError";
  readonly code = "ERR_PIPELINE_TUPLE_FAILED";
  constructor(adapter: string, why: string) {
    super(`${adapter}: the tuple of the message ${why}`);
  }
}
