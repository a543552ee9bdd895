// The errors of admin sockets, on both sides.

import { type RequestFate, SignalboxError } from "../process/errors.js";

/**
 * A request to the admin socket of a host is malformed: no JSON, too long, of another version, for an operation that does not exist, or
 * for no system in particular where several listen.
 *
 * @remedy Name a system with `--system`, if the message lists several. Else use the command `signalbox` of the version that the host runs.
 */
export class AdminProtocolError extends SignalboxError {
  static override readonly name: string = "AdminProtocolError";
  readonly code = "ERR_ADMIN_PROTOCOL";
}

/**
 * A host gave up a request to its admin socket: the request took longer than the host lets it. A change may have taken place, or may still do.
 *
 * @remedy Look whether the change took place. Ask for less at once: fewer flows, messages or letters.
 */
export class AdminTimeoutError extends SignalboxError {
  static override readonly name: string = "AdminTimeoutError";
  readonly code = "ERR_ADMIN_TIMEOUT";
  /** How long a request may take, in milliseconds. */
  readonly limitMs: number;
  constructor(limitMs: number) {
    super(`the host did not finish the request within ${limitMs} ms`);
    this.limitMs = limitMs;
  }
}

/**
 * The admin socket of a host or a service cannot be opened: another program listens there, or something else has its name.
 *
 * @remedy Stop the other program, or remove the file; or give the host or the service another `socket`, or none with `socket: false`.
 */
export class AdminSocketError extends SignalboxError {
  static override readonly name: string = "AdminSocketError";
  readonly code = "ERR_ADMIN_SOCKET";
  /** The path of the socket. */
  readonly path: string;
  constructor(path: string, problem: string, cause?: unknown) {
    super(`cannot listen at ${path}: ${problem}`, cause === undefined ? undefined : { cause });
    this.path = path;
  }
}

/**
 * The program keeps no spans, so a message cannot be followed.
 *
 * @remedy Give the program an observer, or turn on its telemetry.
 */
export class SpansNotKeptError extends SignalboxError {
  static override readonly name: string = "SpansNotKeptError";
  readonly code = "ERR_SPANS_NOT_KEPT";
  constructor(system: string) {
    super(`the system ${system} has neither an observer nor telemetry, so it keeps no spans`);
  }
}

/**
 * A host answered a request with an error, or not at all.
 *
 * @remedy See the error that `remote` names. If there was no answer, look whether the program is busy or hangs: `signalbox system processes` at
 * its socket, its log, and its use of the CPU.
 */
export class RemoteOperationError extends SignalboxError {
  static override readonly name: string = "RemoteOperationError";
  readonly code = "ERR_ADMIN_REMOTE";
  /** The class and the code of the error at the host. */
  readonly remote: { readonly name: string; readonly code?: string };
  /**
   * Of a request without a result: `withdrawn`: it was never sent. `kept`: the host may carry it out, or has given it up in the middle. Absent: the
   * host answered.
   */
  readonly request?: RequestFate;
  constructor(
    message: string,
    remote: { readonly name: string; readonly code?: string },
    request?: RequestFate,
  ) {
    super(message);
    this.remote = remote;
    if (request !== undefined) this.request = request;
  }
}
