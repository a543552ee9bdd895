// The errors of operations on executions.

import { SignalboxError } from "../../process/errors.js";

/**
 * A dead letter cannot go on in its execution, because that has failed or was cancelled.
 *
 * @remedy Replay it: `replay(id, { messages: [...] })` does it in a new execution.
 */
export class ExecutionOverError extends SignalboxError {
  static override readonly name: string = "ExecutionOverError";
  readonly code = "ERR_PIPELINE_EXECUTION_OVER";
  /** The id of the execution. */
  readonly execution: string;
  constructor(execution: string, status: string) {
    super(
      `the execution ${JSON.stringify(execution)} ${status === "failed" ? "has failed" : "was cancelled"}: its dead letters cannot go on in it; replay them`,
    );
    this.execution = execution;
  }
}

/**
 * An execution did not end within the timeout of a wait. It goes on.
 *
 * @remedy Wait again, with a larger `timeoutMs` if need be; or look with `inspect` at how many messages its queues hold.
 */
export class ExecutionWaitTimeoutError extends SignalboxError {
  static override readonly name: string = "ExecutionWaitTimeoutError";
  readonly code = "ERR_PIPELINE_WAIT_TIMEOUT";
  /** The id of the execution. */
  readonly execution: string;
  /** How many milliseconds were waited. */
  readonly timeoutMs: number;
  constructor(execution: string, timeoutMs: number) {
    super(`the execution ${JSON.stringify(execution)} did not end within ${timeoutMs} ms; it goes on`);
    this.execution = execution;
    this.timeoutMs = timeoutMs;
  }
}
