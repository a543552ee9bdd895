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

/**
 * A message is larger than `maxMessageBytes` of its pipeline allows. The message whose result it is becomes a dead letter at once. A source
 * that gives such a message ends its execution, and an execution that is given one at its start does not begin.
 *
 * @remedy Store the value elsewhere, in a file, a bucket or a table, and publish its name; let the adapter split it into several messages; or
 * raise `maxMessageBytes` of the pipeline.
 */
export class MessageTooLargeError extends SignalboxError {
  static override readonly name: string = "MessageTooLargeError";
  readonly code = "ERR_PIPELINE_MESSAGE_TOO_LARGE";
  /** Never worth a retry: the same code makes a message of the same size. */
  readonly retriable = false;
  /** The queue that the message was to go to. */
  readonly queue: string;
  /** The size of the message as it would be stored. */
  readonly bytes: number;
  /** The limit. */
  readonly maxMessageBytes: number;

  constructor(queue: string, bytes: number, maxMessageBytes: number) {
    super(
      `a message for the queue ${queue} has ${bytes} bytes, and maxMessageBytes is ${maxMessageBytes}: ` +
        "store its value elsewhere and publish the name, split it, or raise maxMessageBytes",
    );
    this.queue = queue;
    this.bytes = bytes;
    this.maxMessageBytes = maxMessageBytes;
  }
}
