// The errors of replays.

import { SignalboxError } from "../../process/errors.js";

/**
 * Messages of an execution cannot be replayed. The message of the error says which and why.
 *
 * @remedy Values are there of dead letters, of messages that were not settled, and of messages of routes with the policy `keepValues: true`
 * from the time of the execution. Ask for these alone: `dead: true`, or what there is of a route with `partial: true`.
 */
export class ReplayError extends SignalboxError {
  static override readonly name: string = "ReplayError";
  readonly code = "ERR_PIPELINE_REPLAY";
  /** The id of the execution. */
  readonly execution: string;
  constructor(execution: string, why: string) {
    super(`cannot replay messages of the execution ${JSON.stringify(execution)}: ${why}`);
    this.execution = execution;
  }
}
