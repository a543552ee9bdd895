// The counts and times of telemetry, if a program wants metrics: metrics.ts. The recorder updates them beside the events.

import type { FlowEndOutcome, FlowStepOutcome } from "../../flow/runtime/taps.js";
import type { ExitReason } from "../../process/reason.js";
import type { CallTap } from "../../process/taps.js";
import type { AttemptEnd, DispatchOutcome } from "./events.js";

/** Counts the calls of one method to processes of one label. */
export interface CallMeter {
  readonly owner: Meters;
  readonly method: string | undefined;
  /** Counts the next call, or counts and times it. */
  next(): CallTap;
}

/** Times the messages to processes of one label. */
export interface MessageMeter {
  readonly owner: Meters;
  handled(waitedMs: number, durationMs: number): void;
}

/** Counts the dispatches to one group. */
export interface DispatchMeter {
  /** @param durationMs - undefined if the dispatch was not timed */
  dispatched(outcome: DispatchOutcome, durationMs: number | undefined): void;
  attempted(outcome: AttemptEnd["outcome"]): void;
}

export interface Meters {
  calls(label: string, method: string | undefined): CallMeter;
  cast(label: string, method: string): void;
  /** One message in so many is timed, for each process. */
  readonly messageOneIn: number;
  /** Times the messages of one label. */
  messages(label: string): MessageMeter;
  /** Whether the next dispatch is timed. */
  timesDispatch(): boolean;
  dispatches(group: string): DispatchMeter;
  ended(label: string, reason: ExitReason, handled: number): void;
  flowStep(flow: string, kind: string, outcome: FlowStepOutcome, durationMs: number): void;
  flowEnded(flow: string, outcome: FlowEndOutcome): void;
}
