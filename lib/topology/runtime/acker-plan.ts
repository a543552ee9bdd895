// The ackers as a component of the topology, which no user declares.

import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";

/** The name of the ackers among the components: no user's component can have it. */
export const ACKERS = "__acker";

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
