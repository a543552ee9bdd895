// The operations on a running topology as a graph: its components, the subscriptions between them with their rates, and its bottleneck.

import type { OperationTable } from "../operations/table.js";

/** A component of a topology at this moment. Counters are since the start, rates of the last seconds. */
export interface GraphComponent {
  readonly name: string;
  /** `spout`, `bolt` or `acker`. */
  readonly kind: string;
  readonly tasks: number;
  readonly executors: number;
  readonly executed: number;
  readonly emitted: number;
  readonly acked: number;
  readonly failed: number;
  /** Of a spout: reliable tuples that are not settled. Of a bolt: tuples queued, in work and held. */
  readonly pending: number;
  /** Tuples in the mailboxes of its tasks. */
  readonly waiting: number;
  readonly errors: number;
  readonly restarts: number;
  /** Undefined at the first look: a rate needs two. */
  readonly executedPerS?: number | undefined;
  readonly emittedPerS?: number | undefined;
  /** The share of what its busiest task can do that it did in the last seconds, 0 to 1: near 1, it is at its limit. Of a bolt. */
  readonly capacity?: number | undefined;
  /** The mean time of `execute`. Of a bolt. */
  readonly executeMs?: number | undefined;
  /** The mean time until the tree of a tuple is complete. Of a spout. */
  readonly completeMs?: number | undefined;
}

/** A subscription: a stream on its way from a component to a bolt. */
export interface GraphSubscription {
  readonly from: string;
  readonly stream: string;
  readonly to: string;
  readonly grouping: string;
  /** Tuples that the bolt took from the stream in a second, of late. */
  readonly perS?: number | undefined;
  /** The same since the start. */
  readonly total?: number | undefined;
}

/** A running topology as a graph. */
export interface TopologyGraph {
  readonly pid: string;
  readonly name: string;
  readonly phase: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly uptimeMs: number;
  /** How often it has started again as a whole. */
  readonly restarts: number;
  readonly components: readonly GraphComponent[];
  readonly edges: readonly GraphSubscription[];
  /** The component that holds up the others, with the figures that show it. Undefined when no figures show one. */
  readonly bottleneck?: { readonly component: string; readonly why: string } | undefined;
}

/** How a component is scaled. */
export interface ScaleTo {
  /** The number of its tasks, 1 or more. */
  readonly tasks: number;
}

/** A topology is named by its pid, the registered name of its process, or its own name. */
export interface GraphOperations {
  /** The topology with rates of the last seconds, which come with the second look. @throws NoProcessError */
  graph(id: string): Promise<TopologyGraph>;
  /**
   * Changes the number of a component's tasks, as `scale` of its TopologyRef does.
   *
   * @throws NoProcessError, OptionError, TopologyPhaseError when the topology does not run or is being scaled
   */
  scale(id: string, component: string, options: ScaleTo): Promise<void>;
}

/** Their rows in the table of the operations on a system. */
export const GRAPH_ROWS: OperationTable<GraphOperations> = {
  graph: { kind: "ask", leave: "look", placed: ["id"] },
  scale: { kind: "ask", leave: "change", placed: ["id", "component"], options: { tasks: true } },
};
