// The errors of operations on flows.

import { SignalboxError } from "../../process/errors.js";

/**
 * A flow is not in a state in which an operation is possible.
 *
 * @remedy Look at the flow with `inspect`, or `npx signalbox flows show ID`. The message says in which states the operation is
 * possible.
 */
export class FlowStateError extends SignalboxError {
  static override readonly name: string = "FlowStateError";
  readonly code = "ERR_FLOW_STATE";
  /** The id of the flow. */
  readonly flowId: string;
  /** The state of the flow. */
  readonly status: string;
  constructor(operation: string, flowId: string, status: string, needed: string) {
    super(`cannot ${operation} the flow ${JSON.stringify(flowId)}: it is ${status}; ${needed}`);
    this.flowId = flowId;
    this.status = status;
  }
}
