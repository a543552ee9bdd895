// What is wrong with a message of the multilang protocol.

import { SignalboxError } from "../../../process/errors.js";

/**
 * What is wrong with a message: its size, its characters, its JSON, its command, the type of one of its parts, or the
 * stream or fields of a tuple. `output` means that other code wrote to the stream of the messages.
 */
export type MultilangProblem =
  | "size"
  | "encoding"
  | "json"
  | "command"
  | "shape"
  | "stream"
  | "field"
  | "output";

/**
 * A message of the multilang protocol is malformed, or comes at a moment at which the protocol does not
 * allow it.
 *
 * @remedy Read the message: it names the field and the value. Check that both sides use the same serializer
 * and protocol version.
 */
export class MultilangError extends SignalboxError {
  static override readonly name: string = "MultilangError";
  readonly code = "ERR_MULTILANG";
  /** The part of the message that was wrong. */
  readonly problem: MultilangProblem;
  constructor(problem: MultilangProblem, text: string, options?: ErrorOptions) {
    super(text, options);
    this.problem = problem;
  }
}

/** The first part of a text, for an error text. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
