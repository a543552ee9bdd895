// The error of changes that people ask for.

import { SignalboxError } from "../../process/errors.js";

/**
 * Messages or sources of an execution cannot be given up or moved as it was asked. Nothing was changed.
 *
 * @remedy Look with `inspect` at the queues and sources of the execution, and with `lineage` at the message: only what is in a queue can be
 * given up or moved. A dead letter is replayed.
 */
export class PipelineChangeError extends SignalboxError {
  static override readonly name: string = "PipelineChangeError";
  readonly code = "ERR_PIPELINE_CHANGE";
  /** The id of the execution. */
  readonly execution: string;

  constructor(execution: string, why: string) {
    super(`messages of the execution ${JSON.stringify(execution)} cannot be changed: ${why}`);
    this.execution = execution;
  }
}
