// The ackers as a component that every topology has.

import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";

// No component of a user can have these names.
/** The name of the ackers. */
export const ACKERS = "__acker";
/** The name of the system task. */
export const SYSTEM = "__system";

/** The plan of the ackers, as if the user had added them as a bolt. */
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
