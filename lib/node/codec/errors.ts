// Errors of the codec between nodes.

import { SignalboxError } from "../../process/errors.js";

/**
 * A message, call or reply for another node contains a value that cannot travel: a function, a symbol, an instance of a class, a stream.
 * `path` leads to the value. Nothing was sent.
 *
 * @remedy Send data: plain objects, arrays, Dates, Maps, Sets, bigints, typed arrays, Errors, pids, reply addresses. The text of
 * the error says what to send instead of this value.
 */
export class UnsendableError extends SignalboxError {
  static override readonly name: string = "UnsendableError";
  readonly code = "ERR_NODE_UNSENDABLE";
  /** Steps of flows and pipelines are not repeated for it. */
  readonly retriable = false;
  /** The path of the value that cannot be sent, such as `message.items[3].callback`. */
  readonly path: string;
  /** A description of the value. */
  readonly found: string;
  /** What to send instead. */
  readonly advice: string;
  constructor(path: string, found: string, advice: string, options?: ErrorOptions) {
    super(`${path} is ${found}, which cannot be sent to another node: ${advice}`, options);
    this.path = path;
    this.found = found;
    this.advice = advice;
  }
}

/**
 * A message, call or reply for another node is larger than `maxBytes` allows. Nothing was sent.
 *
 * @remedy Store the value where both nodes reach it, in a bucket or a table, and send its name. Or send it in parts, or raise `maxBytes`.
 */
export class SignalTooLargeError extends SignalboxError {
  static override readonly name: string = "SignalTooLargeError";
  readonly code = "ERR_NODE_TOO_LARGE";
  /** Steps of flows and pipelines are not repeated for it. */
  readonly retriable = false;
  /** The size of the encoded value. `Infinity` for a value that is too large for a text. */
  readonly bytes: number;
  /** The limit. */
  readonly maxBytes: number;
  constructor(what: string, bytes: number, maxBytes: number) {
    super(
      `${what} has ${bytes} bytes, and maxBytes is ${maxBytes}: send the name of a place where it is stored, send it in parts, or raise maxBytes`,
    );
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }
}

/**
 * Another node sent a text that is not a signal. `cause` says why. The whole text was discarded.
 *
 * @remedy Run compatible releases of signalbox on both nodes. Let only nodes of the cluster write to its subjects.
 */
export class FrameError extends SignalboxError {
  static override readonly name: string = "FrameError";
  readonly code = "ERR_NODE_FRAME";
  constructor(from: string, cause: unknown) {
    super(`a text from the node ${from} is no signal`, { cause });
  }
}
