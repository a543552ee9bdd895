// Telemetry of durable flows: see process/taps.ts.

import type { Process } from "../../process/process.js";
import type { WorkTap } from "../../process/taps.js";

/**
 * How an attempt of a step ended: `done`; `retried`, it failed and runs again; `failed`, its error goes to the flow's code; `aborted`,
 * the flow was cancelled or its process ended.
 */
export type FlowStepOutcome = "done" | "retried" | "failed" | "aborted";

/** How a flow ended. */
export type FlowEndOutcome = "completed" | "failed" | "cancelled" | "killed";

/** A step of a flow, or another ask with a body. */
export interface TappedStep {
  /** The name of the flow's definition. */
  readonly flow: string;
  /** The id of the flow. */
  readonly id: string;
  /** `step`, `transaction`, `dispatch`, and so on. */
  readonly kind: string;
  readonly key: string;
}

declare module "../../process/taps.js" {
  interface Taps {
    /**
     * A flow is about to be started, or begins anew. Gives the trace that is kept with it.
     *
     * @param flow - the name of the flow's definition
     * @param follows - the trace of the generation before, if the flow begins anew
     */
    flowStarting(flow: string, id: string, follows?: string | null): string | undefined;
    /**
     * An attempt of a step begins.
     *
     * @param trace - what is kept with the flow
     * @param by - the process of the flow: when that ends, the attempt was aborted
     */
    flowStep(step: TappedStep, trace: string | null, by: Process): WorkTap<FlowStepOutcome>;
    /**
     * The end of a flow is durable.
     *
     * @param durationMs - since its start
     */
    flowEnded(flow: string, id: string, outcome: FlowEndOutcome, durationMs: number): void;
  }
}
