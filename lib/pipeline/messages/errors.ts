// The errors of operations on dead letters.

import { SignalboxError } from "../../process/errors.js";
import { show } from "../../process/show.js";

/**
 * There is no dead letter with this id: it never was one, or it was replayed, retried, edited or dropped.
 *
 * @remedy List the dead letters, and the records of what became of others. With `again: true` a letter is replayed once more.
 */
export class DeadLetterNotFoundError extends SignalboxError {
  static override readonly name: string = "DeadLetterNotFoundError";
  readonly code = "ERR_QUEUE_DEAD_LETTER_NOT_FOUND";
  /** The id that was asked for. */
  readonly id: string;
  /** @param of - what has the letters, such as `queue orders` */
  constructor(of: string, id: string, became?: string) {
    super(`${of} has no dead letter ${show(id)}${became === undefined ? "" : `: it was ${became}`}`);
    this.id = id;
  }
}
