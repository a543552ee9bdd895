// The trace of one schedule, for tests that look at what the simulator records.

import type { ExploreOptions, Simulation, Trace, TraceEffect, TraceStep } from "signalbox/testing";
import { failureOf } from "./found.js";

/** The steps of a schedule, the ordinary one unless the options say otherwise: the scenario is made to fail at its end. */
export async function stepsOf(
  scenario: (sim: Simulation) => unknown,
  options: ExploreOptions = {},
): Promise<Trace["steps"]> {
  const error = await failureOf(
    async (sim) => {
      await scenario(sim);
      await sim.quiet();
      throw new Error("the end");
    },
    { schedules: 1, ...options },
  );
  return error.trace.steps;
}

/** The steps of one kind. */
export function stepsLike<Type extends TraceStep["type"]>(
  steps: readonly TraceStep[],
  type: Type,
): (TraceStep & { readonly type: Type })[] {
  return steps.filter((step): step is TraceStep & { readonly type: Type } => step.type === type);
}

/** The effects of one kind, of all steps. */
export function effectsLike<Type extends TraceEffect["type"]>(
  steps: readonly TraceStep[],
  type: Type,
): (TraceEffect & { readonly type: Type })[] {
  return steps
    .flatMap(({ effects }) => effects)
    .filter((effect): effect is TraceEffect & { readonly type: Type } => effect.type === type);
}
