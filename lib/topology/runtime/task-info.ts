// The tasks of a running topology, as users see them.

import type { Pid } from "../../process/pid.js";
import { ACKERS, SYSTEM } from "./acker-plan.js";
import { type ComponentMetrics, componentMetrics } from "./metrics.js";
import type { RunningTopology } from "./running-topology.js";
import type { ComponentRun, TaskSlot } from "./task-slots.js";

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

/** A task with its counters since the start, over all restarts. */
export interface TaskFigures
  extends TaskInfo,
    Pick<ComponentMetrics, "kind" | "emitted" | "executed" | "acked" | "failed" | "pending" | "errors"> {}

/** A running topology, as inspection shows it. */
export interface TopologyState {
  readonly name: string;
  readonly phase: string;
  readonly uptimeMs: number;
  readonly restarts: number;
  readonly tasks: readonly TaskFigures[];
}

/** The tasks with their counters. The system task has none, and is left out. */
export function taskFigures(run: RunningTopology): readonly TaskFigures[] {
  const infos = new Map(taskInfos(run).map((info) => [info.task, info]));
  const now = run.kernel.env.now();
  return run.registry.components.flatMap((component) =>
    component.allSlots.map((slot): TaskFigures => {
      measure(slot);
      const { name, plan } = component;
      const kind = name === ACKERS ? "acker" : plan.kind;
      const { emitted, executed, acked, failed, pending, errors } = componentMetrics(
        { name, kind, tasks: 1, executors: 1 },
        [slot.meter],
        now,
      );
      return {
        ...(infos.get(slot.task) as TaskInfo),
        kind,
        emitted,
        executed,
        acked,
        failed,
        pending,
        errors,
      };
    }),
  );
}

/** The figures of a component at this moment. */
export function metricsOf(component: ComponentRun, now: number): ComponentMetrics {
  for (const slot of component.allSlots) measure(slot);
  const { name, plan, executors } = component;
  const kind = name === ACKERS ? "acker" : plan.kind;
  return componentMetrics(
    { name, kind, tasks: component.slots.length, executors: executors.length },
    component.meters,
    now,
  );
}

/** Writes what a task has now into its meter. */
export function measure({ meter, pending, buffer }: TaskSlot): void {
  meter.pending = pending;
  meter.waiting = buffer.queued;
}

/** All tasks; the system task is the last. */
export function taskInfos({ registry, incarnations }: RunningTopology): readonly TaskInfo[] {
  const tasks = registry.components
    .flatMap((component) => component.allSlots)
    .map(({ component: { name }, task, process, buffer, starts }) => ({
      component: name,
      task,
      pid: process?.pid,
      waiting: buffer.queued,
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
