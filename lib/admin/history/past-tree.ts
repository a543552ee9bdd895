// The supervision tree at a time, as the operation `treeAt` gives it.

import type { ChildStatus } from "../../supervisor/protocol.js";

/** Which tree. */
export interface TreeAtOptions {
  /** At which time, in milliseconds since 1970. Default: now. Earlier than what is known, it is the earliest known one. */
  readonly at?: number;
  /** Most supervisors, 1 to 500, the oldest first. Default 500. */
  readonly limit?: number;
}

/** The supervision tree at a time. */
export interface PastTree {
  /** The time of this tree, in milliseconds since 1970. */
  readonly at: number;
  /** From when on the tree is known. */
  readonly since: number;
  /** When it changed before that time, and behind it, as far as that is known. */
  readonly earlier?: number | undefined;
  readonly later?: number | undefined;
  /** The supervisors, the oldest first. */
  readonly supervisors: readonly PastSupervisor[];
  /** Supervisors that are left out. */
  readonly more: number;
  /** There were more supervisors than the history keeps. */
  readonly isPartial: boolean;
}

/** A supervisor that ran at the time. */
export interface PastSupervisor {
  readonly pid: string;
  readonly label?: string | undefined;
  readonly name?: string | undefined;
  readonly parent?: string | undefined;
  readonly strategy: string;
  readonly intensity: number;
  readonly periodMs: number;
  /** How many children it had. Undefined: that is no longer known. */
  readonly children?: number | undefined;
  /** From when on its children are known, where that is later than the time. */
  readonly childrenSince?: number | undefined;
  /** Some of its children, in the order of their starts. Of very many, those that were there first. */
  readonly listed: readonly PastChild[];
  /** It has ended since. */
  readonly ended?: PastEnd | undefined;
}

/** A child at the time. */
export interface PastChild {
  readonly id: string;
  readonly type: "worker" | "supervisor";
  readonly status: ChildStatus;
  /** Its process, while it ran. */
  readonly pid?: string | undefined;
  /** Since when it was so. Undefined: since before the history began. */
  readonly since?: number | undefined;
  /** Why its last process had ended, where one had. */
  readonly reason?: string | undefined;
  /** How often it had started anew, since the history began. */
  readonly restarts: number;
  /** Its process has ended since. */
  readonly ended?: PastEnd | undefined;
}

/** The end of a process. */
export interface PastEnd {
  /** When, in milliseconds since 1970. */
  readonly at: number;
  readonly reason?: string | undefined;
}
