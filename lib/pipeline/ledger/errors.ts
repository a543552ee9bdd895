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
 * The messages that come of one message or of one batch are larger together than a commit may be. The message becomes a dead letter at
 * once; a batch is processed message by message first.
 *
 * @remedy Store the values elsewhere, in a file, a bucket or a table, and publish their names; or let the adapter publish ranges, and a
 * further route split them.
 */
export class StepTooLargeError extends SignalboxError {
  static override readonly name: string = "StepTooLargeError";
  readonly code = "ERR_PIPELINE_STEP_TOO_LARGE";
  /** Never worth a retry: the same code makes messages of the same size. */
  readonly retriable = false;
  /** The size of the messages as they would be stored: the bytes, or the characters where they are texts. */
  readonly size: number;

  constructor(count: number, size: number, most: number) {
    super(
      `${count} messages that come of one step have a size of ${size} together, and one commit holds ${most}: ` +
        "store their values elsewhere and publish the names, or split them in a further route",
    );
    this.size = size;
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
