// Decides for a task supervisor: whom it admits, and how it stops its tasks. They all get `shutdown` at once, and those left
// when the time is up are killed: as under a dynamic supervisor, whose children also come and go in any order. `P` identifies
// a task.

import type { ExitReason } from "../../process/reason.js";

export interface TaskSupervisorConfig {
  readonly maxTasks: number;
  readonly shutdownMs: number;
}

/** The set of tasks changes in place: a copy for each task would cost as much as all tasks that run. */
export interface TaskSupervisorState<P> {
  readonly config: TaskSupervisorConfig;
  readonly tasks: Set<P>;
  /** The reason with which the supervisor will exit, once it is closing. */
  readonly closing: ExitReason | undefined;
}

export type TaskSupervisorEvent<P> =
  | { readonly type: "started"; readonly task: P }
  | { readonly type: "exited"; readonly task: P }
  | { readonly type: "close"; readonly reason: ExitReason }
  | { readonly type: "time-up" };

export type TaskSupervisorEffect<P> =
  | { readonly type: "shut-down" | "kill"; readonly tasks: readonly P[] }
  | { readonly type: "time-up-after"; readonly delayMs: number }
  | { readonly type: "exit"; readonly reason: ExitReason };

export function initial<P>(config: TaskSupervisorConfig): TaskSupervisorState<P> {
  return { config, tasks: new Set(), closing: undefined };
}

/** Why no task may be started now, if none may. */
export function problem({
  config,
  tasks,
  closing,
}: TaskSupervisorState<unknown>): "max_tasks" | "closing" | undefined {
  if (closing !== undefined) return "closing";
  return tasks.size >= config.maxTasks ? "max_tasks" : undefined;
}

const NONE: readonly never[] = [];

export function decide<P>(
  state: TaskSupervisorState<P>,
  event: TaskSupervisorEvent<P>,
): readonly [TaskSupervisorState<P>, readonly TaskSupervisorEffect<P>[]] {
  const { config, tasks, closing } = state;
  switch (event.type) {
    case "started":
      tasks.add(event.task);
      return [state, NONE];
    case "exited":
      tasks.delete(event.task);
      if (closing === undefined || tasks.size > 0) return [state, NONE];
      return [state, [{ type: "exit", reason: closing }]];
    case "close": {
      const { reason } = event;
      if (closing !== undefined) return [state, NONE];
      if (tasks.size === 0) return [state, [{ type: "exit", reason }]];
      const { shutdownMs } = config;
      const effects: TaskSupervisorEffect<P>[] = [
        { type: shutdownMs === 0 ? "kill" : "shut-down", tasks: [...tasks] },
      ];
      if (shutdownMs !== 0 && shutdownMs !== Number.POSITIVE_INFINITY)
        effects.push({ type: "time-up-after", delayMs: shutdownMs });
      return [{ config, tasks, closing: reason }, effects];
    }
    case "time-up":
      return [state, [{ type: "kill", tasks: [...tasks] }]];
    default:
      return event satisfies never;
  }
}
