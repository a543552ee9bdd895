// The work of a running topology as the quiescence machine sees it. Each field is counted when it is read.

import { inTransit } from "../runtime/lineage.js";
import type { Run } from "../runtime/run.js";
import type { WorkInProgress } from "./quiescence-machine.js";

export class TopologyWork implements WorkInProgress {
  private readonly run: Run;

  constructor(run: Run) {
    this.run = run;
  }

  get moving(): number {
    const { run } = this;
    let moving = 0;
    for (const spout of run.spouts)
      for (const { life, kept } of run.slotsOf(spout)) {
        // While the topology drains, a spout may emit until its `deactivate` has ended.
        if (life?.alive) moving += life.retrying + (life.asking || (run.is.draining && life.active) ? 1 : 0);
        // The next process of the task takes these tuples over.
        else if (kept.size > 0) moving++;
      }
    for (const bolt of run.bolts)
      for (const { waiting, life } of run.slotsOf(bolt))
        moving += waiting + (life?.busy ?? 0) + (life?.alive && life.flushing ? 1 : 0);
    return moving;
  }

  get spoutsDone(): boolean {
    return this.run.spouts.every((spout) =>
      spout.slots.every(({ done, process }) => done && process !== undefined),
    );
  }

  get bolts(): WorkInProgress["bolts"] {
    const { run } = this;
    return run.bolts.flatMap((bolt) => run.slotsOf(bolt).filter(({ life }) => life?.alive === true));
  }

  get outcomesInTransit(): number {
    return inTransit(this.run);
  }

  get pending(): number {
    return this.run.pending;
  }

  get holdsUnanchored(): boolean {
    return this.run.held.some(({ anchored }) => !anchored);
  }
}
