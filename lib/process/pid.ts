// A pid identifies one process of one node. It is never reused, and can still be printed when the process has exited.

/** The identity of a system, as pids contain it. */
export interface RemoteNode {
  /** The name of the system. */
  readonly name: string;
  /** Tells systems of the same name apart. */
  readonly id: string;
}

/**
 * The process behind a pid. Every file knows pids, so this one imports none: process.ts says what the process is.
 */
export interface LocalProcess {
  readonly pid: Pid<unknown>;
}

/**
 * The address of a process that takes messages of type `M`. A pid is opaque: send to it, link to it, compare it with `===`,
 * use it as a key of a Map, print it. `Pid<A | B>` is assignable to `Pid<A>`, and any pid to `Pid`.
 */
export class Pid<in M = never> {
  /** In types only. */
  declare protected readonly accepts: (message: M) => void;
  /** The node that the process lives on. */
  readonly node: RemoteNode;
  /** Number of the process within its node, from 1. */
  readonly id: number;
  /** The label that the spawn gave, for people to read. */
  readonly label: string | undefined;
  /** Private, so that comparing or cloning a message with a pid in it does not walk through the whole system. */
  #process: LocalProcess | undefined;

  /** @internal */
  constructor(node: RemoteNode, id: number, label: string | undefined, process: LocalProcess | undefined) {
    this.node = node;
    this.id = id;
    this.label = label;
    this.#process = process;
  }

  /** @internal The process while it is alive in this thread. */
  get process(): LocalProcess | undefined {
    return this.#process;
  }

  /** @internal */
  set process(process: LocalProcess | undefined) {
    this.#process = process;
  }

  /** `<shop.17 clerk>`: node, number and label. */
  toString(): string {
    return this.label === undefined
      ? `<${this.node.name}.${this.id}>`
      : `<${this.node.name}.${this.id} ${this.label}>`;
  }

  /** The text of the pid. */
  toJSON(): string {
    return this.toString();
  }
}

Object.defineProperty(Pid.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Pid): string {
    return this.toString();
  },
});
