// The ackers as a component of the topology, which no user declares.

import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";

// No component of a user can have these names.
/** The name of the ackers. */
export const ACKERS = "__acker";
/** The name of the system task. */
export const SYSTEM = "__system";

/** As if somebody had added them. */
export function ackerPlan({ config }: Blueprint): ComponentPlan {
  return {
    name: ACKERS,
    kind: "bolt",
    definition: undefined as never,
    streams: {},
    tasks: config.ackers,
    executors: Math.min(config.ackers, config.ackerExecutors),
    config,
  };
}
