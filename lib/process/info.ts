// What a system shows of its processes.

import type { Kernel } from "./kernel.js";
import { ExitWatch } from "./monitor.js";
import { members } from "./one-or-many.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { DEAD, IDLE, READY, RUNNING, STARTING, type State, SUSPENDED, TERMINATING } from "./process-state.js";

/** `waiting` for a message, `ready` to run, `running`, `suspended` in an await of its own, or on its way in or out. */
export type ProcessStatus = "starting" | "waiting" | "ready" | "running" | "suspended" | "terminating";

/** One process, as it is at this moment. */
export interface ProcessInfo {
  readonly pid: Pid<unknown>;
  readonly label: string | undefined;
  readonly name: string | undefined;
  readonly groups: readonly string[];
  readonly status: ProcessStatus;
  /** Messages and signals waiting. */
  readonly mailboxDepth: number;
  readonly links: readonly Pid[];
  /** Processes that it monitors, once per monitor. */
  readonly monitors: readonly Pid[];
  readonly monitoredBy: readonly Pid[];
  /** Messages and signals handled so far. */
  readonly handled: number;
  readonly trapExit: boolean;
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
};

export function processInfo(kernel: Kernel, process: Process): ProcessInfo {
  return {
    pid: process.pid,
    label: process.pid.label,
    name: process.rare?.name,
    groups: kernel.groups.of(process),
    status: STATUS[process.state],
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
