// Errors of stores. Those of one kind of store alone are in its room.

import { SignalboxError } from "../process/errors.js";
import { show } from "../process/show.js";

/**
 * An operation of a store failed for a reason outside of the library: a full disk, an I/O error, a lost server.
 *
 * @remedy Read the cause. Nothing of the write set was written.
 */
export class StoreError extends SignalboxError {
  static override readonly name: string = "StoreError";
  readonly code: string = "ERR_STORE";
}

/**
 * An expectation of a write set did not hold, or a row that it inserts is there already. Nothing of the set was written.
 *
 * @remedy Read the rows again, decide again, commit again; or report to the user that another writer was faster.
 */
export class ConflictError extends SignalboxError {
  static override readonly name: string = "ConflictError";
  readonly code = "ERR_STORE_CONFLICT";
  /** The table of the row. */
  readonly table: string;
  /** The key of the row, or its values in a unique index. */
  readonly key: readonly unknown[];
  constructor(table: string, key: readonly unknown[], expected: string, found: string) {
    super(`${table} ${show(key)}: expected ${expected}, found ${found}; nothing was written`);
    this.table = table;
    this.key = key;
  }
}

/**
 * The claim under which a write set was committed is lost: another owner has taken over. Nothing of the set was written.
 *
 * @remedy Stop work for the claimed name. The new owner continues it.
 */
export class FencedError extends SignalboxError {
  static override readonly name: string = "FencedError";
  readonly code = "ERR_STORE_FENCED";
  /** The name that was claimed. */
  readonly claim: string;
  /** The token of the claim that is lost. */
  readonly token: number;
  constructor(name: string, token: number) {
    super(`the claim on ${name} with token ${token} is lost; nothing was written`);
    this.claim = name;
    this.token = token;
  }
}

/**
 * The store was closed before the operation.
 *
 * @remedy Close a store after its users have stopped.
 */
export class StoreClosedError extends SignalboxError {
  static override readonly name: string = "StoreClosedError";
  readonly code = "ERR_STORE_CLOSED";
  constructor(label: string) {
    super(`the store ${label} is closed`);
  }
}

/**
 * A value does not fit the column of a table, or a write names a column that the table does not have. Nothing of the write set
 * was written.
 *
 * @remedy Correct the value; the message names the table, the column and what is allowed.
 */
export class ValueError extends SignalboxError {
  static override readonly name: string = "ValueError";
  readonly code = "ERR_STORE_VALUE";
  /** The table of the write. */
  readonly table: string;
  /** The column; empty when the write as a whole is wrong. */
  readonly column: string;
  /** The value that is not allowed. */
  readonly value: unknown;
  constructor(table: string, column: string, value: unknown, allowed: string) {
    super(`${column === "" ? table : `${table}.${column}`} must be ${allowed}; got ${show(value)}`);
    this.table = table;
    this.column = column;
    this.value = value;
  }
}

/**
 * So much waits to be committed that the store takes no more. Nothing of the write set was written.
 *
 * @remedy Wait for earlier write sets before you submit more, or raise the store's bound on queued bytes. If the queue stays full,
 * the disk or the server is slower than the program writes.
 */
export class StoreOverloadedError extends SignalboxError {
  static override readonly name: string = "StoreOverloadedError";
  readonly code = "ERR_STORE_OVERLOADED";
  /** How many write sets wait. */
  readonly sets: number;
  /** How many bytes they have, as the store estimates them. */
  readonly bytes: number;
  constructor(label: string, sets: number, bytes: number, most: number) {
    super(
      `${sets} write sets of ${bytes} bytes wait for the store ${label}, which queues ${most} bytes at most; wait for earlier ones, then submit again`,
    );
    this.sets = sets;
    this.bytes = bytes;
  }
}

/**
 * The tables of the store are of a newer version than this program knows, or of a format from before the first release. Nothing was
 * changed.
 *
 * @remedy Newer: run the newer release of the program, or restore a backup from before its first start. Older (`missing` is a table): let the
 *   program that wrote the store finish its work, or begin with an empty store.
 */
export class StoreVersionError extends SignalboxError {
  static override readonly name: string = "StoreVersionError";
  readonly code = "ERR_STORE_VERSION";
  /** The schema whose version does not fit. */
  readonly schema: string;
  /** The version that the store has. */
  readonly found: number;
  /** The version that this program knows. */
  readonly known: number;
  /** The table whose absence shows a format from before the first release. Undefined: the version is newer. */
  readonly missing: string | undefined;
  constructor(label: string, schema: string, found: number, known: number, missing?: string) {
    super(
      missing === undefined
        ? `the store ${label} has version ${found} of ${schema}, and this program knows ${known}: run the release that wrote it, or a newer one`
        : `the store ${label} has version ${found} of ${schema} as it was before the first release, without the table ${missing}; this program, which knows version ${known}, cannot read its values: let the program that wrote it finish, or begin with an empty store`,
    );
    this.schema = schema;
    this.found = found;
    this.known = known;
    this.missing = missing;
  }
}

/**
 * The store cannot do this: it has no SQL, or its server has tools of its own for it.
 *
 * @remedy Use a store that can, such as `sqlite` for SQL; or the server's own tools for a backup.
 */
export class StoreUnsupportedError extends SignalboxError {
  static override readonly name: string = "StoreUnsupportedError";
  readonly code = "ERR_STORE_UNSUPPORTED";
  constructor(label: string, what: string) {
    super(`the store ${label} ${what}`);
  }
}
