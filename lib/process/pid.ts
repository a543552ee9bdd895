// A pid names one process of one node, for ever: it is never reused, and still prints when the process is gone.

import type { Process } from "./process.js";

/** A system's identity as pids carry it. `id` tells systems of the same name apart. */
export interface RemoteNode {
  readonly name: string;
  readonly id: string;
}

/**
 * The address of a process that takes messages of type `M`. Opaque: send to it, link to it, compare it with `===`,
 * use it as a Map key, print it. `Pid<A | B>` is accepted where `Pid<A>` is wanted; any pid where `Pid` is wanted.
 */
export class Pid<in M = never> {
  /** In types only. */
  declare protected readonly accepts: (message: M) => void;
  /** The node that the process lives on. */
  readonly node: RemoteNode;
  /** Number of the process within its node, from 1. */
  readonly id: number;
  /** What the process was called at its spawn, for people. */
  readonly label: string | undefined;
  /** Private, so that comparing or cloning a message with a pid in it does not walk through the whole system. */
  #process: Process | undefined;

  /** @internal */
  constructor(node: RemoteNode, id: number, label: string | undefined, process: Process | undefined) {
    this.node = node;
    this.id = id;
    this.label = label;
    this.#process = process;
  }

  /** @internal The process while it is alive in this thread. */
  get process(): Process | undefined {
    return this.#process;
  }

  /** @internal */
  set process(process: Process | undefined) {
    this.#process = process;
  }

  /** `<shop.17 clerk>`: node, number and label. */
  toString(): string {
    return this.label === undefined
      ? `<${this.node.name}.${this.id}>`
      : `<${this.node.name}.${this.id} ${this.label}>`;
  }

  toJSON(): string {
    return this.toString();
  }
}

Object.defineProperty(Pid.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value: Pid.prototype.toString,
});
