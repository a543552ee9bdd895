// The file of a store among other files: its real path, problems that are found before it is opened, and its owner.
//
// Nothing here opens the file. POSIX takes all locks of a process off a file when the process closes any descriptor of it, and SQLite
// would not notice: two processes could write at once.

import { node } from "../../process/node-modules.js";
import { processName, utcOf } from "../../process/process-name.js";
import { StoreFileError, StoreIncompleteError } from "./errors.js";

/** The path without links, also of a file that is not there yet. @throws StoreFileError */
export function realPath(path: string): string {
  const { fs } = node;
  const { resolve, dirname, basename, join } = node.path;
  const whole = resolve(path);
  try {
    return fs.realpathSync(whole);
  } catch {
    // Not there yet, or out of reach: the folder tells.
  }
  const folder = dirname(whole);
  try {
    return join(fs.realpathSync(folder), basename(whole));
  } catch (error) {
    throw new StoreFileError(folder, "is no folder that can be reached: create it first", error);
  }
}

/** Makes the checks for which the file need not be opened. @throws StoreFileError */
export function checkFile(path: string): void {
  const { fs } = node;
  const { dirname } = node.path;
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) throw new StoreFileError(path, "is a folder: name a file in it");
  if (stat !== undefined && !stat.isFile()) throw new StoreFileError(path, "is no ordinary file");
  const may = (name: string, why: string): void => {
    try {
      fs.accessSync(name, fs.constants.R_OK | fs.constants.W_OK);
    } catch (error) {
      throw new StoreFileError(name, why, error);
    }
  };
  if (stat !== undefined) may(path, "cannot be read and written by this user");
  may(dirname(path), "cannot be written by this user: SQLite keeps its log beside the file");
}

/** In SQLite's header: how a file is written. 2 says that its commits are in a log until the file is closed. */
const WRITE_VERSION = { at: 18, log: 2 };

/**
 * An owner that ends without a close leaves three files: the store, its log, and the file that names the owner. The last is written once
 * the log is there, and removed before the log is. So a file that is written by a log, and has an owner but no log, has lost commits.
 *
 * @throws StoreIncompleteError
 */
export function checkWhole(path: string): void {
  const { fs } = node;
  const log = `${path}-wal`;
  const bytesOf = (name: string): number | undefined => fs.statSync(name, { throwIfNoEntry: false })?.size;
  const file = bytesOf(path) ?? 0;
  if (file === 0 && (bytesOf(log) ?? 0) > 0)
    throw new StoreIncompleteError(path, "the log of the store is there, without its file", log);
  const owner = readOwner(path);
  if (owner === undefined || file === 0 || fs.existsSync(log)) return;
  // No log, so the file is not open anywhere: to close the descriptor removes no locks.
  const descriptor = fs.openSync(path, "r");
  try {
    const version = new Uint8Array(1);
    fs.readSync(descriptor, version, 0, 1, WRITE_VERSION.at);
    if (version[0] !== WRITE_VERSION.log) return;
  } finally {
    fs.closeSync(descriptor);
  }
  throw new StoreIncompleteError(
    log,
    `the last owner of the store (${owner}) ended without closing it, so commits were in that log`,
    ownerFile(path),
  );
}

/** Where the copy of a store may go. @throws StoreFileError */
export function checkBackup(path: string): void {
  const { fs } = node;
  const { resolve, dirname } = node.path;
  const whole = resolve(path);
  if (fs.existsSync(whole)) throw new StoreFileError(whole, "is there already: a backup goes to a new file");
  if (!fs.existsSync(dirname(whole)))
    throw new StoreFileError(dirname(whole), "is no folder: create it first");
}

/** Only the user of this process may read and write the file, regardless of the umask: stores hold private data of their users. */
const PRIVATE = 0o600;

/**
 * Creates the file of a new store, empty and private. SQLite gives its log and its index the same mode. A file that is there keeps the
 * mode that it has.
 *
 * @throws StoreFileError
 */
export function createPrivate(path: string): void {
  const { fs } = node;
  try {
    const descriptor = fs.openSync(path, "wx", PRIVATE);
    fs.fchmodSync(descriptor, PRIVATE);
    // Closed before other code of this process opens it: no lock is lost.
    fs.closeSync(descriptor);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST")
      throw new StoreFileError(path, "cannot be created by this user", error);
  }
}

const ownerFile = (path: string): string => `${path}.owner`;

/** The stores that this thread has open. */
const owned = new Set<string>();

/**
 * A program that calls `process.exit` closes its files in its last moments: SQLite empties the log and removes it, as at a close. Without
 * this, its owner would be taken for one that was killed.
 */
function forgetAll(): void {
  for (const path of owned) forgetOwner(path);
}

/** Tells others who has the file open. The lock itself is SQLite's; this is for people. */
export function tellOwner(path: string, since: number): void {
  if (owned.size === 0) node.process.on("exit", forgetAll);
  owned.add(path);
  const owner = `${processName()}, since ${utcOf(since)}\n`;
  try {
    node.fs.writeFileSync(ownerFile(path), owner, { mode: PRIVATE });
    node.fs.chmodSync(ownerFile(path), PRIVATE);
  } catch {
    // The name of the owner is only for error messages, so they are less helpful without it.
  }
}

/** The process that had the file open last. */
export function readOwner(path: string): string | undefined {
  try {
    return node.fs.readFileSync(ownerFile(path), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

export function forgetOwner(path: string): void {
  if (owned.delete(path) && owned.size === 0) node.process.off("exit", forgetAll);
  node.fs.rmSync(ownerFile(path), { force: true });
}
