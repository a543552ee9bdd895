// The errors of programs that run on other nodes.

import { SignalboxError } from "../../process/errors.js";

/**
 * A node was asked to start a program that it does not have.
 *
 * @remedy Name the program among the `programs` of the node; the message lists those it has.
 */
export class UnknownProgramError extends SignalboxError {
  static override readonly name: string = "UnknownProgramError";
  readonly code = "ERR_UNKNOWN_PROGRAM";
  constructor(program: string, known: readonly string[]) {
    super(
      `there is no program ${program} here; ${known.length === 0 ? "this node has none" : `there are ${known.join(", ")}`}`,
    );
  }
}

/**
 * A child that belongs on another node found none for longer than the limit.
 *
 * @remedy Look why no node is there: a thread that crashes while it starts, a cluster without members. Raise `placeTimeoutMs` if
 * nodes take longer to start.
 */
export class NoNodeError extends SignalboxError {
  static override readonly name: string = "NoNodeError";
  readonly code = "ERR_NO_NODE";
  constructor(program: string, timeoutMs: number) {
    super(`no node for the program ${program} within ${timeoutMs} ms`);
  }
}
