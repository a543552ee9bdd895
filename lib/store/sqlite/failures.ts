// From result codes of SQLite and of the file system to the errors that users see.

import { SignalboxError } from "../../process/errors.js";
import { StoreError } from "../errors.js";
import { EngineFailure, THREAD_ENDED } from "./engine-port.js";
import { StoreDamagedError, StoreFileError, StoreFullError, StoreLockedError } from "./errors.js";
import type { Failure } from "./jobs.js";

/** SQLite's primary result codes. */
const RESULT = {
  PERM: 3,
  BUSY: 5,
  NOMEM: 7,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  TOOBIG: 18,
  NOTADB: 26,
};

/** The primary result code of an error: SQLite's extended codes have it in their lowest byte. */
export function resultOf(error: unknown): number | undefined {
  const result = error instanceof EngineFailure ? error.failure.result : undefined;
  return result === undefined ? undefined : result & 0xff;
}

/** Whether a group that failed so may succeed in parts: one of its sets is too much. */
export function isTooMuch(error: unknown): boolean {
  const result = resultOf(error);
  return result === RESULT.TOOBIG || result === RESULT.NOMEM;
}

/** The error that users see. Errors of the library stay as they are. */
export function storeError(path: string, error: unknown, owner?: string): Error {
  if (error instanceof SignalboxError) return error;
  if (!(error instanceof EngineFailure))
    return new StoreError(`the store on ${path} failed: ${String((error as Error)?.message ?? error)}`, {
      cause: error,
    });
  const { failure } = error;
  switch (resultOf(error)) {
    case RESULT.BUSY:
      return new StoreLockedError(path, owner);
    case RESULT.CORRUPT:
    case RESULT.NOTADB:
      return new StoreDamagedError(path, failure.message, error);
    case RESULT.FULL:
      return new StoreFullError(path, error);
    case RESULT.READONLY:
    case RESULT.PERM:
      return new StoreFileError(
        path,
        "or its folder cannot be written: allow this user to write both",
        error,
      );
    case RESULT.IOERR:
      return new StoreFileError(
        path,
        `could not be read or written (${failure.message} at ${failure.at}): look at the disk, the log of the system, and limits on the size of files`,
        error,
      );
    case RESULT.CANTOPEN:
      return new StoreFileError(path, `or its -wal cannot be opened or created (${failure.message})`, error);
    default:
      return ofHost(path, failure, error);
  }
}

/** Errors without a result code of SQLite. */
function ofHost(path: string, failure: Failure, cause: Error): Error {
  if (failure.code === THREAD_ENDED)
    return new StoreError(
      `the store on ${path} failed: ${failure.message}; writes in progress may or may not have been committed: open the store again and check`,
      { cause },
    );
  if (failure.code === "MOVED")
    return new StoreFileError(
      path,
      `or its -wal was removed, renamed or replaced while the store was open (${failure.message}); nothing was written: stop the program, put the file back or restore a backup, start again`,
      cause,
    );
  if (failure.code === "ENOSPC" || failure.code === "EDQUOT") return new StoreFullError(path, cause);
  if (failure.code === "EIO")
    return new StoreFileError(path, `could not be read or written (${failure.message})`, cause);
  return new StoreError(`the store on ${path} failed at ${failure.at}: ${failure.message}`, { cause });
}
