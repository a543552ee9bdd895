// Errors of ledgers.

import { SignalboxError } from "../../process/errors.js";

/**
 * The row of an execution is not in the store any more.
 *
 * @remedy Remove executions only after they have ended; a running one is cancelled first.
 */
export class ExecutionGoneError extends SignalboxError {
  static override readonly name: string = "ExecutionGoneError";
  readonly code = "ERR_PIPELINE_EXECUTION_GONE";
  /** The id of the execution. */
  readonly execution: string;

  constructor(execution: string) {
    super(`the execution ${execution} is not in the store any more`);
    this.execution = execution;
  }
}
