// Errors of definitions, and of adapters.

import { SignalboxError } from "../../process/errors.js";
import { type Fault, faultText } from "./fault.js";

/**
 * An adapter gave up on a message: it goes into the dead letters at once, even if attempts are left.
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

/**
 * An adapter took longer with a message than its route allows. The attempt has failed; it is repeated as the policy of the route says.
 *
 * @remedy Give the route a larger `timeoutMs`, or let the adapter end when `ctx.signal` aborts.
 */
export class AdapterTimeoutError extends SignalboxError {
  static override readonly name: string = "AdapterTimeoutError";
  readonly code = "ERR_PIPELINE_ADAPTER_TIMEOUT";
  /** The name of the adapter. */
  readonly adapter: string;
  constructor(route: string, adapter: string, timeoutMs: number) {
    super(`route ${route}: adapter ${adapter} took longer than ${timeoutMs} ms`);
    this.adapter = adapter;
  }
}

/**
 * A message has passed as many routes as its pipeline allows: it goes round in circles. It is a dead letter.
 *
 * @remedy Let the circle of routes end, with a condition on what goes round; or raise `maxHops` of the pipeline.
 */
export class HopLimitError extends SignalboxError {
  static override readonly name: string = "HopLimitError";
  readonly code = "ERR_PIPELINE_HOP_LIMIT";
  constructor(route: string, maxHops: number) {
    super(`route ${route}: the message has passed ${maxHops} routes`);
  }
}

/**
 * A pipeline is not what it should be: a queue that no route takes from, a route that no message reaches, a circle of routes without a
 * hop limit, a batch that may wait for ever, a policy that is no policy. The error lists all faults, not just the first one.
 *
 * @remedy Correct every entry of `faults`. Each has a path, what was found there, and what is allowed.
 */
export class PipelineFaultsError extends SignalboxError {
  static override readonly name: string = "PipelineFaultsError";
  readonly code = "ERR_PIPELINE_FAULTS";
  /** The name of the pipeline. */
  readonly pipeline: string;
  /** All faults, at least one. */
  readonly faults: readonly Fault[];
  constructor(pipeline: string, faults: readonly Fault[]) {
    super(`pipeline ${pipeline} cannot be defined: ${faults.map(faultText).join("; ")}`);
    this.pipeline = pipeline;
    this.faults = faults;
  }
}
