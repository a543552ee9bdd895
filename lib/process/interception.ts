// The hooks by which a simulator sees, holds and orders the events within a system. Production has none, at no cost.

import type { DeadLetterReason } from "./events.js";
import type { WatchedProcess } from "./intercepted.js";
import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";

/** The two ends of a promise that code awaits. */
export interface Settler {
  resolve: ((value: never) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
}

/** How a step used something. Two steps that only read the same thing can swap places. */
export type Access = "read" | "write";

/** The hooks of an Environment. A system calls them if the Environment has them. */
export interface Interception {
  /** A process was added to the system. It has not run yet. */
  born(process: WatchedProcess): void;
  /** The process has ended; nobody has been notified yet. */
  died(process: WatchedProcess, reason: ExitReason): void;
  /** An item is about to enter a mailbox. Returns true to hold it; {@link WatchedProcess.arrive} delivers it later. */
  hold(to: WatchedProcess, item: unknown): boolean;
  /** A receive takes the entry at `index` of the mailbox. Callbacks always take the first one, and call no hook. */
  took(process: WatchedProcess, index: number): void;
  /** A message was discarded: nobody will handle it. */
  lost(to: Pid | string, message: unknown, reason: DeadLetterReason): void;
  /** Withdraws the first held item of a process that `fits` accepts. Returns false if there is none. */
  recall(to: WatchedProcess, fits: (item: unknown) => boolean): boolean;
  /** Code of `owner`, or code outside of processes, is about to await a promise. The hook may replace the promise's ends. */
  gate(owner: WatchedProcess | undefined, what: string, ends: Settler): void;
  /** The running code read or changed the links, the monitors or the existence of a process. */
  met(pid: Pid): void;
  /**
   * The running code read or changed something that processes share. Prefixes of keys: `n:` a name, `g:` a process group, `c:` a
   * consumer group, `t:` a task of a topology and `l:` the load of one, `disk:` a file of a simulated disk, `net:` a connection of
   * a simulated network, `u:` a key of `sim.touch`.
   */
  touched(key: string, access: Access): void;
}
