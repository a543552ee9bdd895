// A tuple on its way to one task, with its place in the trees it belongs to.
//
// The tree of a spout's tuple has an edge for each copy of a tuple that was sent anchored in it: a 64-bit random id. The
// copy carries the id of its root and of its edge, and gathers the XOR of the edges of its children. When it is acked,
// the acker of the root is told the XOR of all of these.

import { Returnable } from "../../process/entries.js";
import type { AnyValues } from "./field.js";

// What became of a tuple.
export const QUEUED = 0;
export const TAKEN = 1;
export const ACKED = 2;
export const FAILED = 3;
/** It expired while a bolt held it: nobody waits for it, and what its bolt says of it is not heard. */
export const EXPIRED = 4;
export type TupleState = typeof QUEUED | typeof TAKEN | typeof ACKED | typeof FAILED | typeof EXPIRED;

/** The way that a tuple took, which hears of what the tuple's task can no longer tell. */
export interface TupleChannel {
  /** The component that it leads to. */
  readonly to: string;
  /** The task ended before it took the tuple out of its mailbox. */
  returned(tuple: Tuple): void;
  /** Nobody will work on it any more. */
  lost(tuple: Tuple): void;
  /** Its bolt held it for so long that it expired. */
  expired(tuple: Tuple): void;
}

/** What a bolt is given. */
export class Tuple<V = AnyValues, S extends string = string> extends Returnable {
  /** The fields, by name. */
  readonly values: V;
  /** The component that emitted it. */
  readonly component: string;
  /** The stream it was emitted on. */
  readonly stream: S;
  /** Id of the task that emitted it. */
  readonly task: number;

  /** @internal Zero in both halves: it belongs to no tree. */
  rootHi = 0;
  /** @internal */
  rootLo = 0;
  /** @internal */
  edgeHi = 0;
  /** @internal */
  edgeLo = 0;
  /** @internal XOR of the edges of its children. */
  childrenHi = 0;
  /** @internal */
  childrenLo = 0;
  /** @internal Further trees that it belongs to, if it comes from several: halves of root and edge, tree by tree. */
  more: Int32Array | undefined = undefined;
  /** @internal The beat at which the youngest of its trees was emitted, or extended: see `Expiry`. */
  born = 0;
  /** @internal */
  state: TupleState = QUEUED;
  /** @internal Milliseconds at which it was taken, when its latency is measured. */
  takenAt: number | undefined = undefined;
  /** @internal Undefined for one that came from another host. */
  readonly channel: TupleChannel | undefined;

  /** @internal */
  constructor(values: V, component: string, stream: S, task: number, way: TupleChannel | undefined) {
    super();
    this.values = values;
    this.component = component;
    this.stream = stream;
    this.task = task;
    this.channel = way;
  }

  /** Whether it belongs to the tree of a spout's tuple, which hears how it goes. */
  get anchored(): boolean {
    return (this.rootHi | this.rootLo) !== 0;
  }

  /** Called by the kernel: its task ended before it came to it. */
  override returned(): void {
    this.channel?.returned(this as unknown as Tuple);
  }
}
