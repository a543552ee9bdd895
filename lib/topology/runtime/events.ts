// The events that a topology publishes through its system.

import type { ExitReason } from "../../process/reason.js";

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** A component with `debug` has emitted a tuple. */
    tuple: [EmittedTuple];
    /** A reliable tuple has failed for good, and no bolt that subscribes to the stream `dead` has acked its dead letter. */
    deadTuple: [DeadTuple];
    /** Restarts of a task did not help, and the topology starts again as a whole after `delayMs`. */
    topologyRestart: [{ readonly topology: string; readonly reason: ExitReason; readonly delayMs: number }];
  }
}

export interface EmittedTuple {
  readonly topology: string;
  readonly component: string;
  readonly task: number;
  readonly stream: string;
  readonly values: object;
  /** The tasks that got the tuple. */
  readonly to: readonly number[];
}

export interface DeadTuple {
  readonly topology: string;
  readonly component: string;
  readonly stream: string;
  readonly id: unknown;
  readonly values: object;
  readonly attempts: number;
}
