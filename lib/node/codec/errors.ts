// Errors of the codec between nodes.

import { SignalboxError } from "../../process/errors.js";

/**
 * A message, call or reply for another node is, or contains, something that no wire can carry: a function, a symbol, an instance of a
 * class, a stream. `path` leads to it. Nothing was sent.
 *
 * @remedy Send data: plain objects, arrays, Dates, Maps, Sets, bigints, typed arrays, Errors, pids, reply addresses. The message says
 * what would be right for this value.
 */
export class UnsendableError extends SignalboxError {
  static override readonly name: string = "UnsendableError";
  readonly code = "ERR_NODE_UNSENDABLE";
  /** The way to what cannot be sent, such as `message.items[3].callback`. */
  readonly path: string;
  /** The value that is there, in words. */
  readonly found: string;
  /** The values that would be right. */
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
 * @remedy Store the value where both nodes reach it, in a bucket or a table, and send its name; send it in parts; or raise `maxBytes`.
 */
export class SignalTooLargeError extends SignalboxError {
  static override readonly name: string = "SignalTooLargeError";
  readonly code = "ERR_NODE_TOO_LARGE";
  /** The size as it would be sent. `Infinity` for a value that no text can hold. */
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
 * A text that another node sent is no signal. `cause` says why. No part of the text has had an effect.
 *
 * @remedy Run releases of signalbox on both nodes that know each other's signals, and let only nodes of the cluster write to its subjects.
 */
export class FrameError extends SignalboxError {
  static override readonly name: string = "FrameError";
  readonly code = "ERR_NODE_FRAME";
  constructor(from: string, cause: unknown) {
    super(`a text from the node ${from} is no signal`, { cause });
  }
}
