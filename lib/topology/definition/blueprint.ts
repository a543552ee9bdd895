// A topology as checked data: what the builder makes, and the host, the graph and other hosts work from.

import type { RoutingFunction } from "../../dispatch/route.js";
import type { Definition } from "./component.js";
import type { FullComponentConfig, FullConfig } from "./config.js";
import type { Fields, Streams } from "./field.js";

/** What chooses the task of a bolt that a tuple goes to: a routing function of dispatch. */
export type Grouping<V> = RoutingFunction<V>;

/** A component in its place in a topology. */
export interface ComponentPlan {
  readonly name: string;
  readonly kind: "spout" | "bolt";
  readonly definition: Definition;
  readonly streams: Streams;
  /** How many processes it is. */
  readonly tasks: number;
  /** How many supervisors these are spread over, at most one for each task. */
  readonly executors: number;
  readonly config: FullComponentConfig;
}

/** A subscription of a bolt to a stream. */
export interface Subscription {
  /** The component and stream that it comes from. */
  readonly from: string;
  readonly stream: string;
  /** The bolt that it leads to. */
  readonly to: string;
  readonly fields: Fields;
  readonly grouping: Grouping<never>;
  /** Whether what is sent along it joins the trees of the tuples it comes from. */
  readonly anchored: boolean;
}

export interface Blueprint {
  readonly name: string;
  readonly config: FullConfig;
  /** Spouts and bolts in the order in which they were added. */
  readonly components: readonly ComponentPlan[];
  readonly subscriptions: readonly Subscription[];
}
