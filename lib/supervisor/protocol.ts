// The events and effects of a supervisor's machine. `P` identifies a running child: the process uses pids, tests use numbers.

import type { ExitReason } from "../process/reason.js";
import type { FullChildSpec } from "./child.js";

/** Whether a child runs, waits for its restart, or is stopped. */
export type ChildStatus = "running" | "restarting" | "stopped";

/** A request through a handle. `token` identifies it in the answer. */
export type Ask =
  | { readonly ask: "add"; readonly spec: FullChildSpec }
  | { readonly ask: "terminate" | "restart" | "delete"; readonly id: string };

export type Event<P> =
  | { readonly type: "boot"; readonly at: number }
  | { readonly type: "started"; readonly id: string; readonly pid: P; readonly at: number }
  | { readonly type: "ignored"; readonly id: string }
  | { readonly type: "failed"; readonly id: string; readonly reason: ExitReason }
  | { readonly type: "stopped"; readonly id: string }
  | {
      readonly type: "exited";
      readonly pid: P;
      readonly reason: ExitReason;
      readonly at: number;
      readonly roll: number;
      /** How long the event was deferred. */
      readonly waitedMs?: number;
    }
  | { readonly type: "retry"; readonly id: string; readonly at: number; readonly roll: number }
  | { readonly type: "resume"; readonly id: string; readonly at: number }
  | { readonly type: "asked"; readonly token: number; readonly request: Ask }
  | { readonly type: "close"; readonly reason: ExitReason };

/** Why a request about a child failed, in the words of OTP. */
export type ChildProblem =
  | "not_found"
  | "running"
  | "restarting"
  | "already_started"
  | "already_present"
  | "start_failed";

export type Answer<P> =
  | { readonly ok: true; readonly pid: P | undefined }
  | { readonly ok: false; readonly problem: ChildProblem; readonly reason?: ExitReason };

/** One restart, or the failure that makes the supervisor give up. */
export interface Restarting {
  readonly id: string;
  readonly reason: ExitReason;
  readonly strategy: RestartStrategy;
  /** Siblings that are restarted together with it. */
  readonly siblings: readonly string[];
  /** How many more restarts are allowed within the period; -1 when this one was too many. */
  readonly intensityLeft: number;
  readonly delayMs: number;
}

export type Effect<P> =
  | { readonly type: "start"; readonly spec: FullChildSpec }
  | { readonly type: "abort-start"; readonly spec: FullChildSpec }
  | { readonly type: "stop"; readonly id: string; readonly pid: P; readonly spec: FullChildSpec }
  | { readonly type: "retry"; readonly id: string }
  | { readonly type: "resume-after"; readonly id: string; readonly delayMs: number }
  | { readonly type: "answer"; readonly token: number; readonly answer: Answer<P> }
  | { readonly type: "up" }
  | { readonly type: "report"; readonly restart: Restarting }
  | { readonly type: "exit"; readonly reason: ExitReason };

/** The child whose failed start ended the start of its supervisor: the `detail` of the supervisor's `shutdown`. */
export class FailedChild {
  /** The id of the child. */
  readonly id: string;
  /** Why its start failed. */
  readonly reason: ExitReason;
  /** Created by the library. */
  constructor(id: string, reason: ExitReason) {
    this.id = id;
    this.reason = reason;
  }
}

/**
 * Given the place of the failed child in start order, and the place behind the last one, the range of children that are
 * stopped, last first, and then started, first first. `to` is exclusive.
 */
export type StrategyRange = (failed: number, end: number) => { readonly from: number; readonly to: number };

/** Which children are restarted when one fails: that one, all, or that one and the children started after it. */
export type RestartStrategy = "one_for_one" | "one_for_all" | "rest_for_one";
