// Decides when a tuple has expired. Time is counted in beats, the ticks of the ackers: one in each half of a message timeout.
// A tuple carries the beat at which its tree was emitted, so that for most tuples the decision is one comparison of integers.

import type { Tuple } from "../definition/tuple.js";
import { LIFE_IN_BEATS } from "../tracking/admission.js";
import { eachTree } from "../tracking/anchors.js";
import type { RunningTopology } from "./running-topology.js";

export class Expiry {
  /** Ticks of the ackers so far. */
  beats = 0;
  private readonly run: RunningTopology;

  constructor(run: RunningTopology) {
    this.run = run;
  }

  /** Half a message timeout has passed. */
  tick(): void {
    this.beats++;
    this.run.hooks.beats("write");
  }

  /** Removes expired tuples from the bolts that hold them. */
  sweep(): void {
    const { run } = this;
    for (const bolt of run.registry.bolts)
      for (const { incarnation } of bolt.allSlots)
        for (const tuple of incarnation?.tuples.held ?? [])
          if (this.isOver(tuple)) {
            incarnation?.tuples.held.delete(tuple);
            tuple.channel.expired(tuple);
            run.settlements.notify();
          }
  }

  /** Whether a tuple belonged to trees, and all of them have expired. */
  isOver(tuple: Tuple): boolean {
    this.run.hooks.beats("read");
    return this.beats - tuple.born >= LIFE_IN_BEATS && tuple.anchored && !this.isTracked(tuple);
  }

  /** The ackers of the trees decide: an acker may have ticked later, or a tree may have been extended. */
  private isTracked({ rootHi, rootLo, more }: Tuple): boolean {
    let tracked = this.tracks(rootHi, rootLo);
    if (more !== undefined)
      eachTree(more, (hi, lo) => {
        tracked ||= this.tracks(hi, lo);
      });
    return tracked;
  }

  private tracks(hi: number, lo: number): boolean {
    return this.run.acking.ackerOf(lo).tracks(hi, lo);
  }
}
