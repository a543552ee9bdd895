// A process as the operations show it.

import type { GroupState } from "../../../dispatch/watcher.js";
import { statusOf } from "../../../process/info.js";
import { inspectedOf } from "../../../process/inspection-trace.js";
import type { Pid } from "../../../process/pid.js";
import type { Process } from "../../../process/process.js";
import { STARTING } from "../../../process/process-state.js";
import type { SupervisorState } from "../../../supervisor/ref.js";
import type { TopologyState } from "../../../topology/runtime/task-info.js";
import type { ProcessSummary } from "./operations.js";

/** The states of the kinds of processes that have lists of their own. */
export interface States {
  readonly supervisor: SupervisorState;
  readonly topology: TopologyState;
  readonly group: GroupState;
}

export const pidText = ({ node, id }: Pid<never>): string => `${node.name}.${id}`;

/** The kind of behaviour that a process runs. One that starts may not say so yet. */
export const kindOf = (process: Process): string | undefined =>
  process.state === STARTING ? undefined : inspectedOf(process)?.kind;

export function stateOf<Kind extends keyof States>(process: Process, kind: Kind): States[Kind] | undefined {
  if (process.state === STARTING) return undefined;
  const inspected = inspectedOf(process);
  return inspected?.kind === kind ? (inspected.state() as States[Kind]) : undefined;
}

export function summaryOf(process: Process): ProcessSummary {
  const { pid, parent, rare, depth, handled } = process;
  return {
    pid: pidText(pid),
    label: pid.label,
    name: rare?.name,
    kind: kindOf(process),
    status: statusOf(process),
    mailboxDepth: depth,
    handled,
    parent: parent === undefined ? undefined : pidText(parent),
  };
}
