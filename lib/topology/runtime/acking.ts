// How tasks notify the ackers: a tuple is acked, has failed, or takes long.

import type { Process } from "../../process/process.js";
import { ACKED, FAILED, type Tuple } from "../definition/tuple.js";
import { eachTree } from "../tracking/anchors.js";
import { ACK, AckerMessage, EXTEND, FAIL, RETURN } from "./messages.js";
import type { RunningTopology } from "./running-topology.js";
import type { TaskSlot } from "./task-slots.js";

const TWO_32 = 0x1_0000_0000;

export class Acking {
  private readonly run: RunningTopology;

  constructor(run: RunningTopology) {
    this.run = run;
  }

  /** The acker of a tree, by the lower half of its root's id. */
  ackerOf(lo: number): TaskSlot {
    const { slots } = this.run.registry.ackers;
    return slots[(lo >>> 0) % slots.length] as TaskSlot;
  }

  /** The process of that acker; undefined while the acker is being restarted. */
  ackerProcess(lo: number): Process | undefined {
    return this.ackerOf(lo).reach();
  }

  /** Instead of this lower half of a root's id, whose acker does not run: a number near by whose acker does, if any runs. */
  nearby(lo: number): number {
    const { length } = this.run.registry.ackers.slots;
    const past = (lo >>> 0) % length;
    for (let i = 1; i < length; i++) {
      const near = (lo >>> 0) - past + ((past + i) % length);
      // Zero would be no id.
      const other = (near < TWO_32 ? near : near - length) | 0 || length;
      if (this.ackerProcess(other) !== undefined) return other;
    }
    return lo;
  }

  /** A tuple is done. The acker of each of its trees gets the XOR of the tuple's edge and those of its children. */
  ack(tuple: Tuple): void {
    tuple.state = ACKED;
    if (!tuple.anchored) return;
    const { childrenHi, childrenLo } = tuple;
    this.notify(ACK, tuple.rootHi, tuple.rootLo, tuple.edgeHi ^ childrenHi, tuple.edgeLo ^ childrenLo);
    if (tuple.more === undefined) return;
    eachTree(tuple.more, (hi, lo, edgeHi, edgeLo) =>
      this.notify(ACK, hi, lo, edgeHi ^ childrenHi, edgeLo ^ childrenLo),
    );
  }

  /** A tuple has failed. @param isInnocent - it has only come back, and spends no retry */
  fail(tuple: Tuple, isInnocent = false): void {
    const kind = isInnocent ? RETURN : FAIL;
    tuple.state = FAILED;
    if (!tuple.anchored) return;
    this.run.results?.failed(tuple);
    this.notify(kind, tuple.rootHi, tuple.rootLo, 0, 0);
    if (tuple.more !== undefined) eachTree(tuple.more, (hi, lo) => this.notify(kind, hi, lo, 0, 0));
  }

  /** A tuple takes long: the timeouts of its trees begin anew. */
  extend(tuple: Tuple): void {
    tuple.born = this.run.expiry.beats;
    if (!tuple.anchored) return;
    this.notify(EXTEND, tuple.rootHi, tuple.rootLo, 0, 0);
    if (tuple.more !== undefined) eachTree(tuple.more, (hi, lo) => this.notify(EXTEND, hi, lo, 0, 0));
  }

  /** An acker that does not run needs no message: its spouts count the trees of an ended acker as failed. */
  private notify(kind: AckerMessage["kind"], hi: number, lo: number, xorHi: number, xorLo: number): void {
    this.ackerProcess(lo)?.deliver(new AckerMessage(kind, hi, lo, xorHi, xorLo, undefined));
  }
}
