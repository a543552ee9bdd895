// The tasks of a running topology, as users see them.

import type { Pid } from "../../process/pid.js";
import { SYSTEM } from "./acker-plan.js";
import type { RunningTopology } from "./running-topology.js";

/** A task of a running topology. */
export interface TaskInfo {
  /** The component's name; `__acker` for an acker, `__system` for the system task. */
  readonly component: string;
  /** The id of the task: whole numbers from 1, unique within the topology. */
  readonly task: number;
  /** The process of the task; undefined while the task is being restarted. */
  readonly pid: Pid | undefined;
  /** Tuples that wait in the mailbox of the task. */
  readonly waiting: number;
  /** How often the task was started again. */
  readonly restarts: number;
}

/** All tasks; the system task is the last. */
export function taskInfos({ registry, incarnations }: RunningTopology): readonly TaskInfo[] {
  const tasks = registry.components
    .flatMap((component) => registry.slotsOf(component))
    .map(({ component: { name }, task, process, queued, starts }) => ({
      component: name,
      task,
      pid: process?.pid,
      waiting: queued,
      restarts: Math.max(0, starts - 1),
    }));
  const { systemProcess, systemRestarts } = incarnations;
  const system = {
    component: SYSTEM,
    task: registry.systemNumber,
    pid: systemProcess?.pid,
    waiting: 0,
    restarts: systemRestarts,
  };
  return [...tasks, system];
}
