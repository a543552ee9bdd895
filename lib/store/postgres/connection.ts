// One session with a server: what `pg` and PGlite have in common.

import { classOfSqlState, endsConnection } from "../error-classes.js";
import { StoreError } from "../errors.js";
import type { StoreContext } from "../store.js";

/** A value that goes to the server. Bytes go as they are, in the binary format of the parameter's type. */
export type Parameter = string | number | bigint | boolean | Uint8Array | null;

/** One statement. */
export interface Command {
  readonly text: string;
  readonly values?: readonly Parameter[];
  /** Parsed and planned once for each connection. For texts of the library alone: each stays with the connection. */
  readonly prepared?: boolean;
}

/** A value that comes from the server: see {@link parserOf}. */
export type Received = string | number | bigint | boolean | Uint8Array | null;

/** The answer to a statement. */
export interface Answer {
  readonly names: readonly string[];
  readonly rows: readonly (readonly Received[])[];
  /** How many rows it changed or gave. */
  readonly count: number;
  /** The server's word for the statement: `COMMIT`, or `ROLLBACK` for a commit of a transaction that had failed. */
  readonly done: string;
}

/** A session with a server. */
export interface Connection {
  /** The process of the server behind it. */
  readonly processId: number;
  /** False once it was closed or lost: nothing can be sent any more. */
  readonly isUsable: boolean;
  /**
   * Sends statements together, so that they take one round trip. Answers come in their order.
   *
   * @throws ServerError the first one; {@link ConnectionLostError}
   */
  send(commands: readonly Command[]): Promise<Answer[]>;
  /** Runs `use` with exclusive use of the connection. */
  hold<T>(use: () => Promise<T>): Promise<T>;
  /** Says goodbye. Resolves when the connection has gone, at the latest after a second. */
  close(): Promise<void>;
  /** Breaks the connection off at once. */
  destroy(): void;
}

/** The events that a connection emits by itself. */
export interface ConnectionEvents {
  /** Once: the connection has gone, and was not closed from here. */
  lost(): void;
  notification(channel: string, payload: string): void;
}

/** Makes connections. */
export interface Connector {
  /** Where, for people, without passwords. */
  readonly label: string;
  /** There is one connection alone, in this process: no others can be told, and the one is never lost. */
  readonly single: boolean;
  /** @throws PackageMissingError, ServerError, ConnectionLostError */
  connect(events: ConnectionEvents, after: StoreContext["after"]): Promise<Connection>;
}

/**
 * The server refused a statement. `sqlState` is its code of five characters.
 *
 * @remedy Read the message of the server, and look its code up in the appendix "PostgreSQL Error Codes" of the manual. Nothing of the
 * transaction was written.
 */
export class ServerError extends StoreError {
  static override readonly name: string = "ServerError";
  override readonly code = "ERR_STORE_SERVER";
  /** The SQLSTATE, such as `42P01`. */
  readonly sqlState: string;
  constructor(sqlState: string, message: string, cause?: unknown) {
    super(`the server refused a statement (${sqlState}): ${message}`, { cause });
    this.sqlState = sqlState;
  }
}

/**
 * The connection has gone, and with it the answers to what was sent. It is the cause of other errors, and never thrown to users itself.
 *
 * @remedy None is needed: the store connects again, and repeats what was interrupted or finds out what became of it.
 */
export class ConnectionLostError extends StoreError {
  static override readonly name: string = "ConnectionLostError";
  override readonly code = "ERR_STORE_CONNECTION";
  constructor(cause: unknown) {
    const { message = String(cause) } = cause as { message?: string };
    super(`the connection was lost: ${message}`, { cause });
  }
}

/** Tells whether an error of `pg` or PGlite is the server's answer, or the end of the connection. */
export function serverError(error: unknown): ServerError | ConnectionLostError {
  const { code, message, severity } = error as { code?: unknown; message?: string; severity?: unknown };
  // Errors of sockets have codes too (`EPIPE` has five letters); the server's have a severity.
  const isAnswer = typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined;
  if (!isAnswer || severity === "FATAL" || severity === "PANIC" || endsConnection(code))
    return new ConnectionLostError(error);
  return new ServerError(code, message ?? "", error);
}

/**
 * A transaction that another one overtook: repeated as a whole, it may succeed. In a write of the library a unique violation is one, too:
 * the row was not there when it was looked for.
 */
export function isRepeatable(error: unknown): error is ServerError {
  return (
    error instanceof ServerError &&
    (classOfSqlState(error.sqlState) === "contention" || error.sqlState === UNIQUE_VIOLATION)
  );
}

const UNIQUE_VIOLATION = "23505";
