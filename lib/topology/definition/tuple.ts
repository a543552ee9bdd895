// A tuple on its way to one task, with its place in the trees that it belongs to.
//
// The tree of a spout's tuple has an edge for each copy of a tuple that was sent anchored in it: a 64-bit random id. The
// copy carries the ids of its root and of its edge, and accumulates the XOR of the edges of its children. When the copy is
// acked, the acker of the root gets the XOR of all of these.

import { Returnable } from "../../process/entries.js";
import type { AnyValues } from "./field.js";

// The states of a tuple.
export const QUEUED = 0;
export const TAKEN = 1;
export const ACKED = 2;
export const FAILED = 3;
/** The tuple expired while a bolt held it. The bolt's `ack` or `fail` of it is ignored. */
export const EXPIRED = 4;
export type TupleState = typeof QUEUED | typeof TAKEN | typeof ACKED | typeof FAILED | typeof EXPIRED;

/** The way by which tuples come from one task to another: what they have in common, and who is notified of their ends. */
export interface TupleChannel {
  /** The component, the stream and the id of the task that emit the tuples. */
  readonly component: string;
  readonly stream: string;
  readonly task: number;
  /** The receiving task ended before it took the tuple out of its mailbox. */
  returned(tuple: Tuple): void;
  /** The tuple will not be worked on any more. @param isInnocent - that is not its fault, although a task had taken it */
  lost(tuple: Tuple, isInnocent?: boolean): void;
  /** The tuple expired while its bolt held it. */
  expired(tuple: Tuple): void;
}

/** The way of one tuple that comes from another host, which knows of its end by itself. */
export class ForeignChannel implements TupleChannel {
  readonly component: string;
  readonly stream: string;
  readonly task: number;
  /** A hash of the tuple, which its retry has too, if it was computed. */
  hash: number | undefined = undefined;

  constructor(component: string, stream: string, task: number) {
    this.component = component;
    this.stream = stream;
    this.task = task;
  }

  returned(): void {}
  lost(): void {}
  expired(): void {}
}

/** A tuple, as a bolt gets it. */
export class Tuple<V = AnyValues, S extends string = string> extends Returnable {
  /** The fields, by name. */
  readonly values: V;
  /** @internal */
  readonly channel: TupleChannel;

  /** @internal Zero in both halves: the tuple belongs to no tree. */
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
  /** @internal Further trees that the tuple belongs to: halves of root and edge, tree by tree. */
  more: Int32Array | undefined = undefined;
  /** @internal The beat at which the youngest of its trees was emitted, or extended: see `Expiry`. */
  born = 0;
  /** @internal */
  state: TupleState = QUEUED;
  /** @internal Milliseconds of the clock when a task took the tuple, if its latency is measured. */
  takenAt: number | undefined = undefined;

  /** @internal */
  constructor(values: V, channel: TupleChannel) {
    super();
    this.values = values;
    this.channel = channel;
  }

  /** The component that emitted the tuple. */
  get component(): string {
    return this.channel.component;
  }

  /** The stream on which the tuple was emitted. */
  get stream(): S {
    return this.channel.stream as S;
  }

  /** The id of the task that emitted the tuple. */
  get task(): number {
    return this.channel.task;
  }

  /** Whether the tuple belongs to the tree of a spout's reliable tuple. */
  get anchored(): boolean {
    return (this.rootHi | this.rootLo) !== 0;
  }

  /** Called by the kernel when the task ended before it took the tuple out of its mailbox. */
  override returned(): void {
    this.channel.returned(this as unknown as Tuple);
  }
}

type Inspect = (value: object, options: object) => string;

// Shows the getters, which belong to the prototype, and leaves out the place in the trees.
Object.defineProperty(Tuple.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Tuple, depth: number | null, options: object, inspect: Inspect): string {
    const { component, stream, task, values, anchored } = this;
    return `Tuple ${inspect({ component, stream, task, values, anchored }, { ...options, depth })}`;
  },
});
