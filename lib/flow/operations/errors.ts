// The errors of operations on flows.

import { SignalboxError } from "../../process/errors.js";

/**
 * A flow is not in a state in which an operation is possible.
 *
 * @remedy Look at the flow with `inspect`, or `npx signalbox flows show ID`. The message says in which states the operation is
 * possible.
 */
export class FlowStateError extends SignalboxError {
  static override readonly name: string = "FlowStateError";
  readonly code = "ERR_FLOW_STATE";
  /** The id of the flow. */
  readonly flowId: string;
  /** The state of the flow. */
  readonly status: string;
  constructor(operation: string, flowId: string, status: string, needed: string) {
    super(`cannot ${operation} the flow ${JSON.stringify(flowId)}: it is ${status}; ${needed}`);
    this.flowId = flowId;
    this.status = status;
  }
}

/**
 * A request to the admin socket of a host is malformed: no JSON, too long, of another version, or for an operation that does not
 * exist.
 *
 * @remedy Use the command `signalbox` of the version that the host runs.
 */
export class AdminProtocolError extends SignalboxError {
  static override readonly name: string = "AdminProtocolError";
  readonly code = "ERR_FLOW_ADMIN_PROTOCOL";
}

/**
 * The admin socket of a host cannot be opened: another program listens there, or something else has its name.
 *
 * @remedy Stop the other program, or remove the file; or give the host another `socket`, or none with `socket: false`.
 */
export class AdminSocketError extends SignalboxError {
  static override readonly name: string = "AdminSocketError";
  readonly code = "ERR_FLOW_ADMIN_SOCKET";
  /** The path of the socket. */
  readonly path: string;
  constructor(path: string, problem: string, cause?: unknown) {
    super(`cannot listen at ${path}: ${problem}`, cause === undefined ? undefined : { cause });
    this.path = path;
  }
}

/**
 * A host answered a request with an error, or not at all.
 *
 * @remedy See the error that `remote` names.
 */
export class RemoteOperationError extends SignalboxError {
  static override readonly name: string = "RemoteOperationError";
  readonly code = "ERR_FLOW_REMOTE";
  /** The class and the code of the error at the host. */
  readonly remote: { readonly name: string; readonly code?: string };
  constructor(message: string, remote: { readonly name: string; readonly code?: string }) {
    super(message);
    this.remote = remote;
  }
}

/**
 * A flow did not end within the timeout of a wait. The flow goes on.
 *
 * @remedy Wait again, with a larger `timeoutMs` if need be; or look at what the flow waits for with `inspect`.
 */
export class FlowWaitTimeoutError extends SignalboxError {
  static override readonly name: string = "FlowWaitTimeoutError";
  readonly code = "ERR_FLOW_WAIT_TIMEOUT";
  /** The id of the flow. */
  readonly flowId: string;
  /** How many milliseconds were waited. */
  readonly timeoutMs: number;
  constructor(flowId: string, timeoutMs: number) {
    super(`the flow ${JSON.stringify(flowId)} did not end within ${timeoutMs} ms; it goes on`);
    this.flowId = flowId;
    this.timeoutMs = timeoutMs;
  }
}
