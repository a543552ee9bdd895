// Pipelines and durable queues, as telemetry sees them: see process/taps.ts.

import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";

/** An attempt at a message of an execution, or at a batch of messages. */
export interface TappedAttempt {
  /** The name of the pipeline. */
  readonly pipeline: string;
  /** The name of the route. */
  readonly route: string;
  /** The id of the execution. */
  readonly execution: string;
  /** The id of the message; of a batch, that of its first message. */
  readonly message: string;
  /** How many messages it is about: more than one in a batch alone. */
  readonly messages: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/**
 * How an attempt ended: `passed`; `failed`; `held`, a breaker did not admit it, so that it does not count; `aborted`, its worker has ended,
 * for example because the attempt took too long.
 */
export type RouteOutcome = "passed" | "failed" | "held" | "aborted";

/** An attempt at a message of a durable queue. */
export interface TappedMessage {
  /** The name of the queue. */
  readonly queue: string;
  /** The id of the message. */
  readonly message: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/**
 * How an attempt at a message of a queue ended: with the status that the handler returned; `failed`, it threw; `aborted`, its process has
 * ended, for example because the attempt took too long.
 */
export type QueueOutcome = "done" | "retry" | "dead" | "failed" | "aborted";

declare module "../../process/taps.js" {
  interface Taps {
    /**
     * An execution of a pipeline is about to be started. Gives the trace that is kept with it.
     *
     * @param follows - the trace of the execution whose messages it replays
     */
    executionStarting(pipeline: string, id: string, follows?: string | null): string | undefined;
    /** A message is about to be published in a durable queue. Gives the trace that is kept with it. */
    queuePublishing(queue: string): string | undefined;
    /**
     * An attempt at a message of a durable queue begins.
     *
     * @param trace - what is kept with the message
     * @param by - the process that handles it: when that ends, the attempt was aborted
     */
    queueAttempt(
      attempt: TappedMessage,
      trace: string | null,
      by: Process,
    ): WorkTap<QueueOutcome> | undefined;
    /**
     * An attempt at a message begins.
     *
     * @param trace - what is kept with the execution
     * @param by - the worker: when that ends, the attempt was aborted
     */
    routeAttempt(
      attempt: TappedAttempt,
      trace: string | null,
      by: Process,
    ): WorkTap<RouteOutcome> | undefined;
  }
}
