// The information that a system shows about its processes.

import type { Kernel } from "./kernel.js";
import { ExitWatch } from "./monitor.js";
import { members } from "./one-or-many.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import {
  DEAD,
  HELD,
  IDLE,
  READY,
  RUNNING,
  STARTING,
  type State,
  SUSPENDED,
  TERMINATING,
} from "./process-state.js";

/**
 * `waiting` for a message, `ready` to run, `running`, `suspended` in an await of its own code, `starting`,
 * `terminating`, or `held` by an inspector that has suspended the process.
 */
export type ProcessStatus =
  | "starting"
  | "waiting"
  | "ready"
  | "running"
  | "suspended"
  | "terminating"
  | "held";

/** A snapshot of one process. */
export interface ProcessInfo {
  /** The pid of the process. */
  readonly pid: Pid<unknown>;
  /** The label that the spawn gave. */
  readonly label: string | undefined;
  /** The registered name, if there is one. */
  readonly name: string | undefined;
  /** The groups of the process. */
  readonly groups: readonly string[];
  /** The present activity of the process. */
  readonly status: ProcessStatus;
  /** Messages and signals in the mailbox. */
  readonly mailboxDepth: number;
  /** The processes that it is linked to. */
  readonly links: readonly Pid[];
  /** The processes that this process monitors, once for each monitor. */
  readonly monitors: readonly Pid[];
  /** The processes that monitor it. */
  readonly monitoredBy: readonly Pid[];
  /** Messages and signals handled so far. */
  readonly handled: number;
  /** Whether it traps exits. */
  readonly trapExit: boolean;
  /** The process that spawned it. */
  readonly parent: Pid | undefined;
}

const STATUS: Record<State, ProcessStatus> = {
  [STARTING]: "starting",
  [IDLE]: "waiting",
  [READY]: "ready",
  [RUNNING]: "running",
  [SUSPENDED]: "suspended",
  [TERMINATING]: "terminating",
  [DEAD]: "terminating",
  [HELD]: "held",
};

export const statusOf = (process: Process): ProcessStatus => STATUS[process.state];

export function processInfo(kernel: Kernel, process: Process): ProcessInfo {
  return {
    pid: process.pid,
    label: process.pid.label,
    name: process.rare?.name,
    groups: kernel.groups.of(process),
    status: statusOf(process),
    mailboxDepth: process.depth,
    links: members(process.links),
    monitors: members(process.watching).map((monitor) => monitor.target),
    monitoredBy: members(process.watchers)
      .filter((monitor) => !(monitor instanceof ExitWatch))
      .map((monitor) => monitor.watcher),
    handled: process.handled,
    trapExit: process.trapping,
    parent: process.parent,
  };
}
