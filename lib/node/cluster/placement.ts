// Where children on other nodes are started: the nodes that are known now, and the choice among them.

import type { Pid, RemoteNode } from "../../process/pid.js";
import type { StarterMessage } from "./programs.js";

/** A node that starts programs, as a placement sees it. */
export interface ProgramNode {
  /** Name and id of the node. */
  readonly node: RemoteNode;
  /** How many children it runs for this node. */
  readonly children: number;
  /** Its labels, such as its zone or its hardware. */
  readonly labels: Readonly<Record<string, string>>;
  /** How many processes run there, as the node last reported, plus the children that this node has placed there since. */
  readonly load: number;
}

/** What a node offers to others. */
export interface NodeOffer {
  /** The programs that it starts. Undefined: not known here, so the node decides when a start is requested. */
  readonly programs: readonly string[] | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly load: number;
}

const ANYTHING: NodeOffer = { programs: undefined, labels: {}, load: 0 };

/** Chooses the node for a child among those that offer its program: at least one node, in the order in which they joined. */
export type Placement = (
  nodes: readonly ProgramNode[],
  program: string,
  args: readonly unknown[],
) => ProgramNode | undefined;

/** Chooses the node that runs the fewest children for this node. If there are several, the first. */
export function fewestChildren(): Placement {
  return (nodes) => nodes.reduce((least, node) => (node.children < least.children ? node : least));
}

/** Chooses the nodes one after the other. */
export function inTurn(): Placement {
  let last: RemoteNode | undefined;
  return (nodes) => {
    const after = nodes.findIndex(({ node }) => node === last) + 1;
    const next = nodes[after % nodes.length];
    last = next?.node;
    return next;
  };
}

/** The process that starts programs on a node. */
export type StarterPid = Pid<StarterMessage>;

/** The number of the process that had the thread of a node when the node ended; 0: not known. */
export type Culprit = () => number;

/** One of the nodes of a {@link ProgramNodes}. */
export class KnownNode implements ProgramNode {
  readonly node: RemoteNode;
  readonly starter: StarterPid;
  children = 0;
  #offer: NodeOffer;
  readonly #culprit: Culprit | undefined;
  /** The number of children when the node last reported its load. */
  #before = 0;

  constructor(node: RemoteNode, starter: StarterPid, offer: NodeOffer, culprit?: Culprit) {
    this.node = node;
    this.starter = starter;
    this.#offer = offer;
    this.#culprit = culprit;
  }

  /** The node is lost. Whether a child there is known to be innocent of that: it did not run yet, or another one had the thread. */
  spares(child: Pid<unknown> | undefined): boolean {
    if (child === undefined) return true;
    const found = this.#culprit?.() ?? 0;
    return found !== 0 && found !== child.id;
  }

  get labels(): Readonly<Record<string, string>> {
    return this.#offer.labels;
  }

  get load(): number {
    return Math.max(0, this.#offer.load + this.children - this.#before);
  }

  /** The programs that it starts. Undefined: not known here, so the node decides when a start is requested. */
  get programs(): readonly string[] | undefined {
    return this.#offer.programs;
  }

  offers(program: string): boolean {
    return this.programs?.includes(program) ?? true;
  }

  learn(offer: NodeOffer): void {
    this.#offer = offer;
    this.#before = this.children;
  }
}

/** The nodes that start programs for this node. */
export class ProgramNodes {
  readonly #nodes = new Map<string, KnownNode>();
  readonly #waiting = new Set<() => void>();

  get all(): readonly KnownNode[] {
    return [...this.#nodes.values()];
  }

  get(nodeId: string): KnownNode | undefined {
    return this.#nodes.get(nodeId);
  }

  add(node: RemoteNode, starter: StarterPid, offer: NodeOffer = ANYTHING, culprit?: Culprit): void {
    this.#nodes.set(node.id, new KnownNode(node, starter, offer, culprit));
    this.#tell();
  }

  /** A node has reported a new offer. */
  learn(nodeId: string, offer: NodeOffer): void {
    this.#nodes.get(nodeId)?.learn(offer);
    this.#tell();
  }

  #tell(): void {
    for (const tell of [...this.#waiting]) tell();
  }

  remove(nodeId: string): void {
    this.#nodes.delete(nodeId);
    this.#tell();
  }

  /** Calls `fn` when a node joins, goes or reports a new offer. Returns a function that ends the calls. */
  onNode(fn: () => void): () => void {
    this.#waiting.add(fn);
    return () => void this.#waiting.delete(fn);
  }
}
