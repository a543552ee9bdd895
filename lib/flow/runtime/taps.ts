// What telemetry sees of durable flows: see process/taps.ts.

/**
 * How an attempt of a step ended: `done`; `retried`, it failed and runs again; `failed`, its error goes to the flow's code.
 */
export type FlowStepOutcome = "done" | "retried" | "failed";

/** How a flow ended. */
export type FlowEndOutcome = "completed" | "failed" | "cancelled" | "killed";

declare module "../../process/taps.js" {
  interface Taps {
    /**
     * An attempt of a step, a transaction or another ask with a body has ended.
     *
     * @param flow - the name of the flow's definition
     * @param kind - `step`, `transaction`, `dispatch`, and so on
     */
    flowStep(
      flow: string,
      kind: string,
      key: string,
      id: string,
      outcome: FlowStepOutcome,
      durationMs: number,
    ): void;
    /**
     * The end of a flow is durable.
     *
     * @param durationMs - since its start
     */
    flowEnded(flow: string, id: string, outcome: FlowEndOutcome, durationMs: number): void;
  }
}
