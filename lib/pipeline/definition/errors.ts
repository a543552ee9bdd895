// Errors of adapters.

import { SignalboxError } from "../../process/errors.js";

/**
 * An adapter gave up on a message: it goes into the dead letters at once, whatever attempts are left.
 *
 * @remedy Look at the dead letter and its history, mend the message or the adapter, and replay it.
 */
export class DeadLetterError extends SignalboxError {
  static override readonly name: string = "DeadLetterError";
  readonly code = "ERR_PIPELINE_DEAD_LETTER";
  /** @param reason - why the message cannot be processed, for people */
  constructor(reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
  }
}
