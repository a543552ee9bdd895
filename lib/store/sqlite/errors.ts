// Errors of stores on SQLite. failures.ts makes them, and is loaded when a store is opened.

import { StoreError } from "../errors.js";

/**
 * Another process, or another copy of the library in this process, has the file open. A SQLite file has one owner.
 *
 * @remedy Stop the owner, which the message names, or use a file of your own. Several processes that share flows need `postgres`. A
 * process that was killed holds no lock, so no file has to be removed.
 */
export class StoreLockedError extends StoreError {
  static override readonly name: string = "StoreLockedError";
  override readonly code = "ERR_STORE_LOCKED";
  /** The process that holds the file, as far as the file beside it tells. */
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
      `${path} is damaged or not a store: ${why}; restore a backup, or recover the rest with sqlite3 ${path} .recover`,
      { cause },
    );
  }
}

/**
 * A store is a file and, until it is closed, a log beside it (`-wal`). One of the two is gone after an end without a close, and what it
 * held is gone with it. Opened as it is, the store would lack commits that were acknowledged, or be empty. Nothing was changed.
 *
 * @remedy Put the missing file back, or restore a backup. A copy of a store takes both files, or is made by `store.backup`. To go on with
 * what is left, remove the file that the message names.
 */
export class StoreIncompleteError extends StoreError {
  static override readonly name: string = "StoreIncompleteError";
  override readonly code = "ERR_STORE_INCOMPLETE";
  /** The path of the file that is gone. */
  readonly missing: string;
  constructor(missing: string, why: string, witness: string) {
    super(
      `${missing} is gone: ${why}; put it back or restore a backup. To go on without its data, remove ${witness}`,
    );
    this.missing = missing;
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
