// What a supervisor's machine is told, and what it says: its events and effects. `P` is whatever the process around the
// machine identifies a running child by: a pid.

import type { ExitReason } from "../process/reason.js";
import type { FullChildSpec } from "./child.js";

export type ChildStatus = "running" | "restarting" | "stopped";

/** A request from outside; `token` names it in the reply. */
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
      /** How long it had to wait until what was in progress was done. */
      readonly waitedMs?: number;
    }
  | { readonly type: "retry"; readonly id: string; readonly at: number; readonly roll: number }
  | { readonly type: "resume"; readonly id: string; readonly at: number }
  | { readonly type: "asked"; readonly token: number; readonly request: Ask }
  | { readonly type: "close"; readonly reason: ExitReason };

/** Why a request about a child could not be met; OTP's words. */
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

/** One restart, or the giving up of it. */
export interface Restarting {
  readonly id: string;
  readonly reason: ExitReason;
  readonly strategy: RestartStrategy;
  /** Siblings that go down and come up with it. */
  readonly siblings: readonly string[];
  /** Restarts that are still allowed within the period; -1 when this one was too many. */
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

/** Why a supervisor's own start failed: the `detail` of its `shutdown`. */
export class FailedChild {
  readonly id: string;
  readonly reason: ExitReason;
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

export type RestartStrategy = "one_for_one" | "one_for_all" | "rest_for_one";
