// The supervisors of a topology: a root; below it one each for ackers, bolts, spouts and system; below these one for each
// executor, and its tasks. A task that crashes is restarted alone. When it crashes too often, its executor fails and is
// restarted once; after that the topology fails.
//
// Supervisors start in this order and stop in the opposite order. They report nothing: the topology has its own log.

import type { Behaviour, Callbacks } from "../../process/behaviour.js";
import { launch, type Startable } from "../../process/start.js";
import type { ChildSpec } from "../../supervisor/child.js";
import type { SupervisorRef } from "../../supervisor/ref.js";
import {
  type SupervisorDefinition,
  type SupervisorOptions,
  supervisor,
} from "../../supervisor/supervisor.js";
import type { BoltDefinition } from "../definition/component.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { ComponentRun, ExecutorRun, TaskSlot } from "../runtime/task-slots.js";
import { ackerTask } from "../tasks/acker-task.js";
import { boltTask } from "../tasks/bolt-task.js";
import { spoutTask } from "../tasks/spout-task.js";
import { systemTask } from "../tasks/system-task.js";

/** Restarts of executors that a group allows within five seconds. */
const EXECUTOR_RESTARTS = 1;

export function topologyTree(run: RunningTopology): SupervisorDefinition {
  const { intensity, periodMs } = run.blueprint.config;
  const system: ChildSpec = { id: "system-task", start: task(() => systemTask(run) as Behaviour<never>) };
  return supervisor({
    label: "tree",
    report: false,
    strategy: "rest_for_one",
    intensity: 0,
    children: [
      group(run, "ackers", {}, () => executorsOf(run, [run.registry.ackers])),
      group(run, "bolts", {}, () => executorsOf(run, run.registry.bolts)),
      group(run, "spouts", {}, () => executorsOf(run, run.registry.spouts)),
      // The system task has no executor. It is restarted as often as any task.
      group(run, "system", { intensity, periodMs }, () => [system]),
    ],
  });
}

function group(
  run: RunningTopology,
  id: string,
  limits: Pick<SupervisorOptions, "intensity" | "periodMs">,
  children: () => readonly ChildSpec[],
): ChildSpec {
  return {
    id,
    type: "supervisor",
    start: asOfNow(() =>
      supervisor({
        label: `${run.name}/${id}`,
        report: false,
        intensity: EXECUTOR_RESTARTS,
        ...limits,
        children: children(),
        onStart: (ctx) => {
          run.groups.set(id, ctx.self);
        },
      }),
    ),
  };
}

function executorsOf(run: RunningTopology, components: readonly ComponentRun[]): readonly ChildSpec[] {
  return components.flatMap((component) =>
    component.executors.map((executor) => executorSpec(run, executor)),
  );
}

/** The supervisor of an executor. */
export function executorSpec(run: RunningTopology, executor: ExecutorRun): ChildSpec {
  const { component } = executor;
  const { intensity, periodMs, restartBackoff } = component.plan.config;
  const options: Omit<SupervisorOptions, "children"> = {
    label: `${component.name}/${executor.index}`,
    intensity,
    periodMs,
    report: false,
    ...(restartBackoff === undefined ? {} : { backoff: restartBackoff }),
  };
  return {
    id: `${component.name}/${executor.index}`,
    type: "supervisor",
    start: asOfNow(() =>
      supervisor({
        ...options,
        children: executor.slots.map((slot) => taskSpec(run, slot)),
        onStart: (ctx) => {
          executor.pid = ctx.self;
        },
      }),
    ),
  };
}

export function taskSpec(run: RunningTopology, slot: TaskSlot): ChildSpec {
  const { component } = slot;
  const behaviour =
    component === run.registry.ackers ? ackerTask : component.plan.kind === "bolt" ? boltTask : spoutTask;
  const start = task(() => behaviour(run, slot) as Behaviour<never>);
  // A hasty stop waits for spouts, whose `fail` is called, and for bolts with a program. It kills the other bolts.
  const { kind, definition } = component.plan;
  // Ackers have no definition.
  const waits = kind !== "bolt" || (definition as BoltDefinition | undefined)?.options.closes === true;
  return { id: slot.id, start, hurry: () => run.switches.hasty && !waits };
}

/** A task traps exits, so that it can end in order when its supervisor stops it. */
function task(behaviour: () => Behaviour<never>): Startable<readonly [], void> {
  return { [launch]: () => ({ behaviour: behaviour(), options: { trapExit: true }, ref: () => undefined }) };
}

/**
 * A supervisor that reads its list of children when it runs, since tasks come and go by scaling. It does not read the list
 * when it is launched, one turn earlier: a child that is added in between would be lost.
 */
function asOfNow(make: () => SupervisorDefinition): Startable<readonly [], SupervisorRef> {
  return {
    [launch]: () => {
      const { ref, options = {} } = make()[launch]([]);
      let now: Callbacks<never>;
      const behaviour: Callbacks<never> = {
        init: (ctx) => {
          now = make()[launch]([]).behaviour as Callbacks<never>;
          return now.init?.(ctx);
        },
        handle: (ctx, message) => now.handle(ctx, message),
        signal: (ctx, signal) => now.signal?.(ctx, signal),
        parentExit: (ctx, reason) => now.parentExit?.(ctx, reason),
      };
      return { behaviour, options, ref };
    },
  };
}
