// Errors of stores on SQLite, and what they are made from: result codes of SQLite and of the file system.

import { SignalboxError } from "../../process/errors.js";
import { StoreError } from "../errors.js";
import { EngineFailure, THREAD_ENDED } from "./engine-port.js";
import type { Failure } from "./jobs.js";

/**
 * Another process, or another copy of the library in this process, has the file open. A SQLite file has one owner.
 *
 * @remedy Stop the owner, which the message names, or use a file of your own. Several processes that share flows need `postgres`. A
 * process that was killed holds no lock, so no file has to be removed.
 */
export class StoreLockedError extends StoreError {
  static override readonly name: string = "StoreLockedError";
  override readonly code = "ERR_STORE_LOCKED";
  /** Who holds the file, as far as the file beside it tells. */
  readonly owner: string | undefined;
  constructor(path: string, owner: string | undefined) {
    super(
      `${path} is open in ${owner ?? "another process"}: a SQLite file has one owner; stop that one, or use a file of your own, or postgres for several processes`,
    );
    this.owner = owner;
  }
}

/**
 * The file is no SQLite database, or parts of it are damaged or missing. Nothing was changed.
 *
 * @remedy Stop the program and copy the file and its `-wal` to a safe place. Restore a backup; or read out what is left with
 * `sqlite3 FILE .recover | sqlite3 NEW`, and open the new file. Look for the cause: a disk that fails, a copy of a live file, a network
 * file system.
 */
export class StoreDamagedError extends StoreError {
  static override readonly name: string = "StoreDamagedError";
  override readonly code = "ERR_STORE_DAMAGED";
  constructor(path: string, why: string, cause?: unknown) {
    super(
      `${path} is damaged or no store: ${why}; restore a backup, or read out what is left with sqlite3 ${path} .recover`,
      { cause },
    );
  }
}

/**
 * The disk, or the quota, is full. Nothing of the write set was written, and the store works on.
 *
 * @remedy Free space on the disk of the file. Later writes succeed without a restart.
 */
export class StoreFullError extends StoreError {
  static override readonly name: string = "StoreFullError";
  override readonly code = "ERR_STORE_FULL";
  constructor(path: string, cause?: unknown) {
    super(`no space is left for ${path}; nothing was written, and writes succeed again when there is space`, {
      cause,
    });
  }
}

/**
 * The file system refuses an operation on the file: an I/O error, a missing folder, a read-only file or folder, a folder in its place.
 * Nothing was written.
 *
 * @remedy The message says what is wrong with which path. After an I/O error look at the disk and the log of the operating system.
 */
export class StoreFileError extends StoreError {
  static override readonly name: string = "StoreFileError";
  override readonly code = "ERR_STORE_FILE";
  /** The path that is wrong. */
  readonly path: string;
  constructor(path: string, why: string, cause?: unknown) {
    super(`${path} ${why}`, { cause });
    this.path = path;
  }
}

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
        `could not be read or written (${failure.message} at ${failure.at})`,
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
      `the store on ${path} failed: ${failure.message}; what was under way may or may not be written: open the store again and look`,
      { cause },
    );
  if (failure.code === "ENOSPC" || failure.code === "EDQUOT") return new StoreFullError(path, cause);
  if (failure.code === "EIO")
    return new StoreFileError(path, `could not be read or written (${failure.message})`, cause);
  return new StoreError(`the store on ${path} failed at ${failure.at}: ${failure.message}`, { cause });
}
