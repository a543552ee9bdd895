// Who sees what goes wrong in a system, while its history is kept. A system without one pays one look at the field `kernel.witness` at each of
// these places. A listener of events would cost more: `exit` is emitted for each process that ends, and dead letters come 100,000 a second.

import type { DiscardedReply } from "./events.js";
import type { DeadLetterReason, ExitReason } from "./exit-reason.js";
import type { Pid } from "./pid.js";

/** A process that has ended. */
export interface EndedProcess {
  readonly pid: Pid<unknown>;
  readonly parent: Pid | undefined;
  /** `onStart`: its start had not ended. */
  readonly rare: { readonly onStart: unknown } | undefined;
}

/** Where a child of a supervisor stands. `gone`: its supervisor has it no longer. */
export type ChildStanding = "running" | "restarting" | "stopped" | "gone";

/** A child, as its supervisor sees it. */
export interface SeenChild {
  /** Tells it from all others of its supervisor. It keeps that over restarts. */
  readonly key: string;
  readonly id: string;
  readonly type: "worker" | "supervisor";
  readonly status: ChildStanding;
  readonly pid: Pid | undefined;
}

/** A child that has changed. */
export interface ChangedChild extends SeenChild {
  /** Its supervisor has not had it before. */
  readonly isNew: boolean;
  /** Why its process has ended. Undefined: none has, or its supervisor has stopped it. */
  readonly reason: ExitReason | undefined;
}

/** A supervisor with the first of its children. */
export interface SeenSupervisor {
  readonly strategy: string;
  readonly intensity: number;
  readonly periodMs: number;
  /** How many children it has. */
  readonly count: number;
  readonly first: readonly SeenChild[];
}

/** Reads a supervisor as it is now. @param most - so many children at most */
export type SupervisorSight = (most: number) => SeenSupervisor;

/** No method may throw. */
export interface Witness {
  /**
   * A process has ended, and neither `normal` nor with `shutdown`. No other process has been notified yet.
   *
   * @param entry - of its mailbox, that it was handling; undefined if that is not known
   * @param alongLink - it ended because a process did that it was linked to
   */
  ended(process: EndedProcess, reason: ExitReason, entry: unknown, alongLink: boolean): void;
  /** A function body has taken an entry out of its mailbox: nothing else knows later what it was at. */
  took(process: object, entry: unknown): void;
  /** A message reached no process. */
  deadLetter(to: Pid | string, reason: DeadLetterReason): void;
  /**
   * A supervisor has begun, or children of it have changed.
   *
   * @param sight - the supervisor with these changes
   */
  supervised(supervisor: Pid, changed: readonly ChangedChild[], sight: SupervisorSight): void;
  /** A reply was discarded. @param describe - builds an error with a stack, so it is for the first of many alone */
  discardedReply(describe: () => DiscardedReply): void;
}
