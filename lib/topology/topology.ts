// A topology that was checked and can be started: what the builder makes.

import type { Pid } from "../process/pid.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import type { Blueprint } from "./definition/blueprint.js";
import { Director } from "./lifecycle/director.js";
import type { RunOptions } from "./lifecycle/run-options.js";
import { TopologyRef } from "./ref.js";

/**
 * Start it, `await system.start(wordCount)`, or make it a child of a supervisor. It runs until it is stopped, or until
 * its restarts have not helped.
 */
export interface Topology extends Startable<readonly [options?: RunOptions], TopologyRef> {
  readonly name: string;
  /** What it is made of. */
  readonly blueprint: Blueprint;
  /** A handle of one that runs already, by its pid or the name it is registered under, also after a restart. */
  at(system: ProcessSystem, address: Pid<never> | string): TopologyRef;
}

/** A topology whose blueprint is sound. */
export function topologyOf(blueprint: Blueprint): Topology {
  const { name } = blueprint;
  return {
    name,
    blueprint,
    at: (system, address) => new TopologyRef(system.kernel, address, name),
    [launch]: ([options]): Launch<TopologyRef> => ({
      behaviour: new Director(blueprint, options ?? {}),
      // Its drain has a limit of its own.
      options: { label: `topology ${name}`, trapExit: true, shutdown: Number.POSITIVE_INFINITY },
      ref: (pid, kernel) => new TopologyRef(kernel, pid, name),
    }),
  };
}
