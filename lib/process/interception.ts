// The hooks by which a simulator sees, holds and orders the events within a system. Production has none, at no cost.

import type { DeadLetterReason } from "./events.js";
import type { WatchedProcess } from "./intercepted.js";
import type { Pid, RemoteNode } from "./pid.js";
import type { ExitReason } from "./reason.js";
import type { SharedState } from "./shared-state.js";
import type { TimerQueue } from "./timer-queue.js";

/** The two ends of a promise that code awaits. */
export interface Settler {
  resolve: ((value: never) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
}

/** How a step used something. Two steps that only read the same thing can swap places. */
export type Access = "read" | "write";

/** The hooks of an Environment. A system calls them if the Environment has them. */
export interface Interception {
  /** The class of the processes. It comes from here, so a program that intercepts nothing does not load it. */
  readonly processClass: typeof WatchedProcess;
  /** A process was added to the system. It has not run yet. */
  born(process: WatchedProcess): void;
  /** The process has ended; no other process has been notified yet. */
  died(process: WatchedProcess, reason: ExitReason): void;
  /** An item is about to enter a mailbox. Returns true to hold it; {@link WatchedProcess.arrive} delivers it later. */
  hold(to: WatchedProcess, item: unknown): boolean;
  /** A receive takes the entry at `index` of the mailbox. Callbacks always take the first one, and call no hook. */
  took(process: WatchedProcess, index: number): void;
  /** A message was discarded: no process will handle it. */
  lost(to: Pid | string, message: unknown, reason: DeadLetterReason): void;
  /** Withdraws the first held item of a process that `fits` accepts. Returns false if there is none. */
  recall(to: WatchedProcess, fits: (item: unknown) => boolean): boolean;
  /** Code of `owner`, or code outside of processes, is about to await a promise. The hook may replace the promise's ends. */
  gate(owner: WatchedProcess | undefined, what: string, ends: Settler, about?: Pid): void;
  /** The record of a new system for the state that steps read and write; undefined when no record is needed. */
  sharedState(node: RemoteNode): SharedState | undefined;
  /** The running code read or changed something that processes share. The keys are those of {@link SharedState}. */
  touched(key: string, access: Access): void;
  /** Stands for a process in keys. It does not depend on what other processes do. */
  keyOf(pid: Pid): string;
  /** The running code adds a process to a system (`write`), or sees the order in which all were added (`read`). */
  spawnOrder(node: string, access: Access): void;
  /** The key of an object that its creator has made known by asking for the key first. */
  keyOfObject(object: object): string;
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
