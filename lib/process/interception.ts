// The hooks by which a simulator sees, holds and orders the events within a system. Production has none, at no cost.

import type { DeadLetterReason } from "./exit-reason.js";
import type { LocalProcess, Pid, RemoteNode } from "./pid.js";
import type { ExitReason } from "./reason.js";
import type { SharedState, StepRecord } from "./shared-state.js";
import type { TimerQueue } from "./timer-queue.js";

/** The two ends of a promise that code awaits. */
export interface Settler {
  resolve: ((value: never) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
}

/** A process whose deliveries can be held. */
export interface InterceptedProcess extends LocalProcess {
  /** The interceptor's own. */
  tag: unknown;
  /** Takes in what was held on its way. */
  arrive(item: unknown): void;
}

/** The hooks of an Environment. A system calls them if the Environment has them. */
export interface Interception extends StepRecord {
  /** The class of the processes. It comes from here, so a program that intercepts nothing does not load it. */
  readonly processClass: abstract new (
    ...args: never
  ) => InterceptedProcess;
  /** A process was added to the system. It has not run yet. */
  born(process: InterceptedProcess): void;
  /** The process has ended; no other process has been notified yet. */
  died(process: InterceptedProcess, reason: ExitReason): void;
  /** An item is about to enter a mailbox. Returns true to hold it; {@link InterceptedProcess.arrive} delivers it later. */
  hold(to: InterceptedProcess, item: unknown): boolean;
  /** A receive takes the entry at `index` of the mailbox. Callbacks always take the first one, and call no hook. */
  took(process: InterceptedProcess, index: number): void;
  /** A message was discarded: no process will handle it. */
  lost(to: Pid | string, message: unknown, reason: DeadLetterReason): void;
  /** Withdraws the first held item of a process that `fits` accepts. Returns false if there is none. */
  recall(to: InterceptedProcess, fits: (item: unknown) => boolean): boolean;
  /** Code of `owner`, or code outside of processes, is about to await a promise. The hook may replace the promise's ends. */
  gate(owner: InterceptedProcess | undefined, what: string, ends: Settler, about?: Pid): void;
  /** The record of a new system for the state that steps read and write; undefined when no record is needed. */
  sharedState(node: RemoteNode): SharedState | undefined;
  /** The timers of a new system; `enter` runs code of the system. */
  timers(enter: (fn: () => void) => void): TimerQueue;
  /** A listener of events, a trace or a log has thrown. */
  listenerFailed(error: unknown): void;
  /** Calls form a circle: each process waits for the reply of the next. The last of the calls is about to be refused. */
  circle(processes: readonly Pid[]): void;
  /** The number of a new pid or monitor: never twice, and independent of what other processes do. */
  number(of: "pid" | "monitor"): number;
  /** The running code read or changed the life, links or monitors of a process. */
  met(pid: Pid): void;
}
