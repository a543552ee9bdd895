// The errors of programs that run on other nodes.

import { SignalboxError } from "../../process/errors.js";

/**
 * A node was asked to start a program that it does not have.
 *
 * @remedy Add the program to the `programs` of that node. The message lists the programs that the node has.
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
 * A child waited for a node that offers its program, and found none within the limit.
 *
 * @remedy Find out why no node is there: a thread may crash while it starts, or the cluster may have no other members. Raise
 * `placeTimeoutMs` if nodes take longer to start.
 */
export class NoNodeError extends SignalboxError {
  static override readonly name: string = "NoNodeError";
  readonly code = "ERR_NO_NODE";
  constructor(program: string, timeoutMs: number) {
    super(`no node for the program ${program} within ${timeoutMs} ms`);
  }
}
