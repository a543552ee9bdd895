// A running topology as operators look at it: the figures of its components, and what went along each subscription.

import { groupingLabel } from "../definition/grouping-form.js";
import { ACKERS } from "./acker-plan.js";
import type { ComponentMetrics, TaskMeter } from "./metrics.js";
import type { RunningTopology } from "./running-topology.js";
import { metricsOf } from "./task-info.js";
import type { ComponentRun } from "./task-slots.js";

/** The figures of a component, with what its limit is found by. */
export interface ComponentFigures extends ComponentMetrics {
  /** Tuples that each task took since the start, by the index of the task. */
  readonly executedByTask: readonly number[];
  /** Tuples that one task works on at once. */
  readonly concurrency: number;
  /** Of a spout: reliable tuples that its tasks may have in flight, all together. */
  readonly mayPend: number | undefined;
}

/** A subscription, and the tuples that its bolt took from the stream since the start. */
export interface SubscriptionFigures {
  readonly from: string;
  readonly stream: string;
  readonly to: string;
  readonly grouping: string;
  readonly taken: number;
}

/** A topology with its figures since the start. */
export interface GraphFigures {
  readonly name: string;
  readonly phase: string;
  /** Milliseconds of the system's clock. */
  readonly now: number;
  readonly uptimeMs: number;
  readonly restarts: number;
  readonly components: readonly ComponentFigures[];
  readonly subscriptions: readonly SubscriptionFigures[];
}

/** A process that runs a topology. Operators find its figures here, so that a program without topologies does not load them. */
export interface GraphSource {
  readonly topologyName: string;
  graphFigures(): GraphFigures;
}

export function graphFigures(run: RunningTopology, phase: string): GraphFigures {
  const { name, kernel, startedAt, restarts, registry, blueprint } = run;
  const now = kernel.env.now();
  return {
    name,
    phase,
    now,
    uptimeMs: now - startedAt,
    restarts,
    components: registry.components.map((component) => ({
      ...metricsOf(component, now),
      executedByTask: component.meters.map(executedBy),
      concurrency: component.name === ACKERS || component.plan.kind === "spout" ? 1 : component.concurrency,
      mayPend:
        component.plan.kind === "spout"
          ? component.slots.length * component.plan.config.maxPending
          : undefined,
    })),
    subscriptions: blueprint.subscriptions.map(({ from, stream, to, grouping }) => ({
      from,
      stream,
      to,
      grouping: groupingLabel(grouping),
      taken: takenBy(registry.component(to), `${from}.${stream}`),
    })),
  };
}

function executedBy({ inputs }: TaskMeter): number {
  let sum = 0;
  for (const { executed } of inputs.values()) sum += executed;
  return sum;
}

function takenBy({ meters }: ComponentRun, input: string): number {
  return meters.reduce((before, meter) => before + (meter.inputs.get(input)?.executed ?? 0), 0);
}
