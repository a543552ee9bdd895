// The work of a running topology as the quiescence machine sees it. Each field is counted when it is read.

import { inTransit } from "../runtime/lineage.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { WorkInProgress } from "./quiescence-machine.js";

export class TopologyWork implements WorkInProgress {
  readonly #run: RunningTopology;

  constructor(run: RunningTopology) {
    this.#run = run;
  }

  get moving(): number {
    const run = this.#run;
    let moving = 0;
    for (const spout of run.registry.spouts)
      for (const { incarnation, spout: tuples } of spout.allSlots) {
        // While the topology drains, a spout may emit until its `deactivate` has ended.
        if (incarnation?.alive)
          moving +=
            incarnation.retrying +
            (incarnation.asking || (run.switches.draining && incarnation.active) ? 1 : 0);
        // The next process of the task takes these tuples over.
        else if (tuples.pending.size > 0) moving++;
      }
    for (const bolt of run.registry.bolts)
      for (const { inFlight, incarnation } of bolt.allSlots)
        moving += inFlight + (incarnation?.alive && incarnation.tuples.flushing ? 1 : 0);
    return moving;
  }

  get spoutsDone(): boolean {
    return this.#run.registry.spouts.every((spout) =>
      spout.slots.every(({ spout: { done }, process }) => done && process !== undefined),
    );
  }

  get bolts(): WorkInProgress["bolts"] {
    const run = this.#run;
    return run.registry.bolts.flatMap((bolt) =>
      bolt.allSlots.filter(({ incarnation }) => incarnation?.alive === true),
    );
  }

  get outcomesInTransit(): number {
    return inTransit(this.#run);
  }

  get pending(): number {
    return this.#run.registry.pending;
  }

  get holdsUnanchored(): boolean {
    return this.#run.registry.held.some(({ anchored }) => !anchored);
  }
}
