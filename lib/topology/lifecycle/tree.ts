// The supervisors of a topology: a root, over one each for ackers, bolts, spouts and system, over one for each executor,
// over its tasks. A task that crashes is restarted, alone. One that crashes too often takes its executor with it, which
// is restarted once; after that the topology has failed.
//
// They start in this order, and stop in the opposite one. They report nothing themselves: the topology has a log of its own.

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

/** Restarts of executors within five seconds that a group allows. */
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
      // The system task is none of many executors: it is restarted as often as any task.
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
  // A spout has to tell what is given up; nobody waits for a bolt, but for a program that ends with it.
  const { kind, definition } = component.plan;
  // Ackers have no definition.
  const waits = kind !== "bolt" || (definition as BoltDefinition | undefined)?.options.closes === true;
  return { id: slot.id, start, hurry: () => run.switches.hasty && !waits };
}

/** A task traps exits, so that it is told to end in order. */
function task(behaviour: () => Behaviour<never>): Startable<readonly [], void> {
  return { [launch]: () => ({ behaviour: behaviour(), options: { trapExit: true }, ref: () => undefined }) };
}

/**
 * A supervisor whose children are what they are to be at the moment when it runs: tasks come and go by scaling. Not when
 * it is launched, a turn earlier: what is added in between would be nobody's child.
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
