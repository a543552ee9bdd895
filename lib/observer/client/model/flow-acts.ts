// What may be done with a flow in each of its states, and why not. Pure.

import type { FlowStatus } from "../../../flow/operations/operations.js";

export type FlowAct = "pause" | "resume" | "cancel" | "kill" | "retry" | "discharge" | "fork";

const LIVE: readonly FlowStatus[] = ["pending", "running", "waiting"];
const OPEN: readonly FlowStatus[] = [...LIVE, "paused", "hospitalized"];

const STATES: Readonly<
  Record<FlowAct, { readonly in: readonly FlowStatus[] | "any"; readonly not: string }>
> = {
  pause: { in: LIVE, not: "Only a flow that runs or waits can be paused." },
  resume: { in: ["paused"], not: "Only a paused flow can be resumed." },
  cancel: { in: OPEN, not: "The flow has ended." },
  kill: { in: OPEN, not: "The flow has ended." },
  retry: {
    in: ["failed", "hospitalized"],
    not: "Only a flow that failed, or is in the hospital, can be retried.",
  },
  discharge: { in: ["hospitalized"], not: "The flow is not in the hospital." },
  fork: { in: "any", not: "" },
};

/** Why an operation would be refused. Undefined: it would not. */
export function refusalOf(act: FlowAct, status: FlowStatus): string | undefined {
  const { in: states, not } = STATES[act];
  return states === "any" || states.includes(status) ? undefined : not;
}
