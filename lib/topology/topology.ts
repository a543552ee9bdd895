// A topology that has passed all checks and can be started. The builder makes it.

import { address, kernelOf } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import type { Blueprint } from "./definition/blueprint.js";
import { Director } from "./lifecycle/director.js";
import type { RunOptions } from "./lifecycle/run-options.js";
import { TopologyRef } from "./ref.js";

/**
 * Start it by `await system.start(wordCount)`, or make it a child of a supervisor. It runs until it is stopped, or until no
 * restart is left.
 */
export interface Topology extends Startable<readonly [options?: RunOptions], TopologyRef> {
  /** Name of the topology. */
  readonly name: string;
  /** Its components and subscriptions. */
  readonly blueprint: Blueprint;
  /** A handle of one that runs, by its pid or its registered name. A handle by name works after a restart, too. */
  at(system: ProcessSystem, address: Pid<never> | string): TopologyRef;
}

/** Makes a topology of a checked blueprint. */
export function topologyOf(blueprint: Blueprint): Topology {
  const { name } = blueprint;
  return {
    name,
    blueprint,
    at: (system, where) => new TopologyRef(kernelOf(system), address("address", where) as Pid<never>, name),
    [launch]: ([options]): Launch<TopologyRef> => ({
      behaviour: new Director(blueprint, options ?? {}),
      // The drain has its own time limit.
      options: { label: `topology ${name}`, trapExit: true, shutdown: Number.POSITIVE_INFINITY },
      ref: (pid, kernel) => new TopologyRef(kernel, pid, name),
    }),
  };
}
