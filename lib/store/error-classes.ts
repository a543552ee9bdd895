// The one classification of errors of a store, its driver or its server. Steps, the hospital, hosts, pipelines and the stores themselves
// read this table, so that the same error means the same everywhere.
//
// The codes are those of appendix A of the manual of PostgreSQL, the result codes of SQLite (also as texts of libsql and better-sqlite3),
// the errno of Node, and the codes of the library's own errors.

import { type Backoff, backoffMs } from "../process/backoff.js";
import { SignalboxError } from "../process/errors.js";

/**
 * The meaning of an error of a store for the work that met it.
 *
 * - `contention`: other writers were faster, or hold the lock: passes, after a wait with jitter
 * - `timeout`: a limit on time was over, or the statement was cancelled: passes
 * - `unreachable`: no connection, a server that starts, stops or is a standby: passes when it is back
 * - `exhausted`: no space, memory or connection is left: passes when there is some again
 * - `failing`: the server or the file system failed by itself: may pass
 * - `damaged`: what is stored cannot be read any more
 * - `constraint`: a constraint of the database was violated, by the data of the user
 * - `refused`: the statement, its values, or the right to run it are wrong
 * - `over`: the store takes nothing more from this owner: its claim is lost, or the store is closed
 */
export type StoreErrorClass =
  | ("contention" | "timeout" | "unreachable" | "exhausted" | "failing")
  | ("damaged" | "constraint" | "refused" | "over");

/** The same work may succeed at another time, without a change to it. */
const PASSING: ReadonlySet<StoreErrorClass | undefined> = new Set<StoreErrorClass>([
  ...(["contention", "timeout", "unreachable", "exhausted", "failing"] as const),
]);

/** One row of the table: the first that fits counts. */
export interface ErrorClassRow {
  /** Fits a whole code. */
  readonly codes: RegExp;
  readonly class: StoreErrorClass;
  /** Of a server: it ends the connection with this error. */
  readonly ends?: true;
}

/** SQLSTATEs of PostgreSQL. */
export const SQLSTATES: readonly ErrorClassRow[] = [
  { codes: /^40(000|001|P01)$/, class: "contention" }, // serialization failure, deadlock
  { codes: /^40003$/, class: "unreachable", ends: true }, // statement completion unknown
  { codes: /^40002$/, class: "constraint" },
  { codes: /^55P03$/, class: "contention" }, // lock not available in time
  { codes: /^55006$/, class: "contention" }, // object in use
  { codes: /^57014$/, class: "timeout" }, // cancelled: by statement_timeout, or on request
  { codes: /^25P0[34]$/, class: "timeout", ends: true }, // idle in a transaction, or in one for too long
  { codes: /^57P0[1-5]$/, class: "unreachable", ends: true }, // shutdown, crash, start-up, recovery
  { codes: /^08P01$/, class: "refused", ends: true }, // an unknown protocol or setting
  { codes: /^08...$/, class: "unreachable", ends: true },
  { codes: /^25006$/, class: "unreachable" }, // a server that is read-only, such as a standby
  { codes: /^53...$/, class: "exhausted" }, // disk full, out of memory, too many connections
  { codes: /^(XX001|XX002)$/, class: "damaged" }, // data or index corrupted
  { codes: /^(XX...|58...|F0...)$/, class: "failing" }, // internal error, I/O error, configuration file
  { codes: /^23...$/, class: "constraint" },
  { codes: /^(?=.*\d)[0-9A-Z]{5}$/, class: "refused" }, // all other errors of a statement
];

/** Primary result codes of SQLite, by number and by name. */
const SQLITE: readonly (readonly [number, string, StoreErrorClass])[] = [
  [2, "INTERNAL", "failing"],
  [3, "PERM", "failing"],
  [5, "BUSY", "contention"],
  [6, "LOCKED", "contention"],
  [7, "NOMEM", "exhausted"],
  [8, "READONLY", "failing"],
  [9, "INTERRUPT", "timeout"],
  [10, "IOERR", "failing"],
  [11, "CORRUPT", "damaged"],
  [13, "FULL", "exhausted"],
  [14, "CANTOPEN", "failing"],
  [15, "PROTOCOL", "contention"],
  [17, "SCHEMA", "contention"],
  [19, "CONSTRAINT", "constraint"],
  [26, "NOTADB", "damaged"],
];

/** Codes of Node and of the library, and what other drivers call theirs. */
const NAMED: readonly ErrorClassRow[] = [
  { codes: /^ERR_STORE_(FENCED|CLOSED)$/, class: "over" },
  { codes: /^ERR_STORE_OVERTAKEN$/, class: "contention" },
  { codes: /^ERR_STORE_(FULL|OVERLOADED)$/, class: "exhausted" },
  { codes: /^ERR_STORE_(FILE|LOCKED)$/, class: "failing" },
  { codes: /^ERR_STORE_DAMAGED$/, class: "damaged" },
  { codes: /^ERR_STORE_VALUE$/, class: "refused" },
  { codes: /^(ENOSPC|EDQUOT|EMFILE|ENFILE|ENOMEM)$/, class: "exhausted" },
  { codes: /^(EIO|EROFS)$/, class: "failing" },
  {
    codes: /^(ECONN[A-Z]+|EPIPE|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN)|ETIMEDOUT)$/,
    class: "unreachable",
  },
  { codes: /^ERR_\w*TIMEOUT$/, class: "timeout" },
  { codes: /^ERR_(\w*CONNECTION|STORE_UNREACHABLE)$/, class: "unreachable" },
  { codes: /^ERR_\w*CONSTRAINT/, class: "constraint" },
];

/** The most causes of an error that are searched for the error of the database. */
const MAX_CAUSES = 5;
/** Where errors carry a code: those of Node and of drivers, of PostgreSQL, of statements of the user, and of node:sqlite. */
const KEYS = ["code", "sqlState", "result", "errcode"] as const;

/** The class of a SQLSTATE. Undefined: it is none. */
export function classOfSqlState(sqlState: string): StoreErrorClass | undefined {
  return SQLSTATES.find(({ codes }) => codes.test(sqlState))?.class;
}

/** Whether a server that says this ends the connection. */
export function endsConnection(sqlState: string): boolean {
  return SQLSTATES.find(({ codes }) => codes.test(sqlState))?.ends === true;
}

/** The class of one code of any kind. Undefined: the table does not have it. */
export function classOfCode(code: unknown): StoreErrorClass | undefined {
  // The extended codes of SQLite have the primary one in their lowest byte. The rest are errors of the statement.
  if (typeof code === "number") return SQLITE.find(([result]) => result === (code & 0xff))?.[2] ?? "refused";
  if (typeof code !== "string") return undefined;
  if (code.startsWith("SQLITE_"))
    return SQLITE.find(([, name]) => code.split("_")[1] === name)?.[2] ?? "refused";
  return NAMED.find(({ codes }) => codes.test(code))?.class ?? classOfSqlState(code);
}

/**
 * The class of an error of a store: by the first code that the table knows, of the error itself or of its causes. Undefined: none is
 * known. Never throws. Whether the error is a store's is the caller's to know: programs have databases of their own.
 */
export function classOf(error: unknown): StoreErrorClass | undefined {
  let one: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof one === "object" && one !== null; depth++) {
    for (const key of KEYS) {
      const code = propertyOf(one, key);
      // Other numbers than results of SQLite say nothing here.
      const isResult = key === "result" || key === "errcode";
      const found = typeof code === "number" && !isResult ? undefined : classOfCode(code);
      if (found !== undefined) return found;
    }
    one = propertyOf(one, "cause");
  }
  return undefined;
}

/** Whether the same work may succeed at another time, without a change to it. */
export function passes(errorClass: StoreErrorClass | undefined): boolean {
  return PASSING.has(errorClass);
}

/** Waits of work that met a passing error, before it is tried again. Work that met many at once does not come back at once. */
const PASSING_WAIT: Backoff = { minMs: 50, maxMs: 30_000, factor: 2, jitter: 1 };

/**
 * How long work waits that has met a passing error.
 *
 * @param times - how often in a row, 1 or more
 * @param roll - in [0, 1)
 */
export function passingWait(times: number, roll: number): number {
  return Math.max(1, backoffMs(PASSING_WAIT, times, roll));
}

/** Errors with which statements of a transaction failed, and the transaction of each. */
const TOLD = new WeakMap<object, object>();

/** A statement of a transaction fails with this error. */
export function told(transaction: object, error: unknown): void {
  if (typeof error === "object" && error !== null) TOLD.set(error, transaction);
}

/** Errors of stores around what the body of a transaction has thrown. */
const OF_BODIES = new WeakSet<object>();

/** Marks an error whose cause a body has thrown: such an error says nothing about the store. */
export function ofBody(error: object): void {
  OF_BODIES.add(error);
}

/**
 * The error of a statement of this transaction because of which a body failed: the error that it threw, or a cause of that. Undefined:
 * the body failed with an error of its own.
 */
export function toldIn(transaction: object, thrown: unknown): unknown {
  return chainOf(thrown).find((one) => TOLD.get(one) === transaction);
}

/**
 * The class of the error of a store or a database that made code of a user fail: the first such error among the thrown error and its
 * causes decides. Undefined: there is none. The causes of other errors of the library are not read: such an error, like that of a failed
 * flow, stands for itself. So does one whose `retriable` is false.
 */
export function storeClassOf(thrown: unknown): StoreErrorClass | undefined {
  if (propertyOf(Object(thrown), "retriable") === false) return undefined;
  const said = chainOf(thrown, isOfLibrary).find(isOfStore);
  return said === undefined ? undefined : classOf(said);
}

/** Whether the library has made an error for a reason of its own. */
function isOfLibrary(error: object): boolean {
  return error instanceof SignalboxError && !OF_BODIES.has(error);
}

/** Whether a store or the driver of a database has made an error. Codes of Node say nothing here: a program may do anything with files and sockets. */
function isOfStore(error: object): boolean {
  if (TOLD.has(error)) return true;
  if (OF_BODIES.has(error)) return false;
  const code = propertyOf(error, "code");
  if (typeof code !== "string") return false;
  // The drivers of PostgreSQL pass on the severity of the server's errors.
  const isServers = typeof propertyOf(error, "severity") === "string" && classOfSqlState(code) !== undefined;
  return isServers || /^(ERR_STORE|ERR_SQLITE_ERROR$|SQLITE_)/.test(code);
}

/** The thrown value and its causes, as far as they are objects. @param ends - whether the causes of an error that is no store's are left alone */
function chainOf(thrown: unknown, ends: (error: object) => boolean = () => false): object[] {
  const seen: unknown[] = [thrown];
  const found: object[] = [];
  for (let i = 0; i < seen.length && i < MAX_CAUSES * MAX_CAUSES; i++) {
    const one = seen[i];
    if (typeof one !== "object" || one === null) continue;
    found.push(one);
    if (ends(one) && !isOfStore(one)) continue;
    seen.push(propertyOf(one, "cause"));
    // Of `Promise.any`.
    const errors = propertyOf(one, "errors");
    if (Array.isArray(errors)) seen.push(...errors.slice(0, MAX_CAUSES));
  }
  return found;
}

/** A property of any object: it may be a getter that throws. */
function propertyOf(of: object, key: string): unknown {
  try {
    return (of as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}
