// The events that a topology publishes through its system.

import type { ExitReason } from "../../process/reason.js";

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** A component with `debug` has emitted a tuple. */
    tuple: [EmittedTuple];
    /** A reliable tuple has failed for good, and no bolt that subscribes to the stream `dead` has acked its dead letter. */
    deadTuple: [DeadTuple];
    /** Restarts of a task did not help, and the topology starts again as a whole after `delayMs`. */
    topologyRestart: [
      {
        /** Name of the topology. */
        readonly topology: string;
        /** The last crash of a task, when the supervisors gave up after crashes; otherwise their own exit reason. */
        readonly reason: ExitReason;
        /** Milliseconds until the topology starts again. */
        readonly delayMs: number;
      },
    ];
  }
}

/** A tuple that a component with `debug` has emitted. */
export interface EmittedTuple {
  /** Name of the topology. */
  readonly topology: string;
  /** Name of the component that emitted the tuple. */
  readonly component: string;
  /** Id of the task that emitted the tuple, as in {@link TaskContext.task}. */
  readonly task: number;
  /** Name of the stream on which the tuple was emitted. */
  readonly stream: string;
  /** The fields of the tuple, by name. */
  readonly values: object;
  /** The tasks that got the tuple. */
  readonly to: readonly number[];
}

/** A reliable tuple that has failed for good. */
export interface DeadTuple {
  /** Name of the topology. */
  readonly topology: string;
  /** Name of the spout. */
  readonly component: string;
  /** Name of the stream on which the tuple was emitted. */
  readonly stream: string;
  /** The id that the spout gave to the tuple. */
  readonly id: unknown;
  /** The fields of the tuple, by name. */
  readonly values: object;
  /** How often the tuple was emitted. Tries that failed by no fault of the tuple do not count. */
  readonly attempts: number;
}
