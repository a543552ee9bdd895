// What a simulator may see, hold and order of the life within a system. Production has none of it, and pays nothing.

import type { WatchedProcess } from "./intercepted.js";
import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";

/** The two ends of a promise that code awaits. */
export interface Settler {
  resolve: ((value: never) => void) | undefined;
  reject: ((error: unknown) => void) | undefined;
}

/** How a step met something: two steps that only read the same can change places. */
export type Access = "read" | "write";

/** What a system tells an Environment that asks for it. */
export interface Interception {
  /** A process is in the system now, and has not run. */
  born(process: WatchedProcess): void;
  /** The process has ended, and nothing is told of it yet. */
  died(process: WatchedProcess, reason: ExitReason): void;
  /** An item on its way into a mailbox. True: it is held, and given to {@link WatchedProcess.arrive} later. */
  hold(to: WatchedProcess, item: unknown): boolean;
  /** Takes back the first item for a process that fits and is held, as if it had arrived. False when there is none. */
  recall(to: WatchedProcess, fits: (item: unknown) => boolean): boolean;
  /** Code of `owner`, or of nobody, is about to await a promise: its ends may be replaced. */
  gate(owner: WatchedProcess | undefined, what: string, ends: Settler): void;
  /** The code that is running looked at or changed the links, monitors or life of a process. */
  met(pid: Pid): void;
  /** The code that is running looked at or changed something shared: `n:` a name, `g:` a group, `c:` consumers. */
  touched(key: string, access: Access): void;
}
