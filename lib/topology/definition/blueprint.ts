// A topology as checked data. The builder makes it; the host, the graphs and other hosts read it.

import type { RoutingFunction } from "../../dispatch/route.js";
import type { Definition } from "./component.js";
import type { FullComponentConfig, FullConfig } from "./config.js";
import type { Fields, Streams } from "./field.js";

/** Chooses the task of a bolt that gets a tuple: a routing function of dispatch. */
export type Grouping<V> = RoutingFunction<V>;

/** A component in its place in a topology. */
export interface ComponentPlan {
  readonly name: string;
  readonly kind: "spout" | "bolt";
  readonly definition: Definition;
  readonly streams: Streams;
  /** How many tasks it has. Each is a process. */
  readonly tasks: number;
  /** How many supervisors its tasks are spread over, at most one for each task. */
  readonly executors: number;
  readonly config: FullComponentConfig;
}

/** A subscription of a bolt to a stream. */
export interface Subscription {
  /** The component that emits the stream. */
  readonly from: string;
  readonly stream: string;
  /** The bolt that subscribes. */
  readonly to: string;
  readonly fields: Fields;
  readonly grouping: Grouping<never>;
  /** Whether a tuple that is sent along it joins the trees of the tuples that it was emitted for. */
  readonly anchored: boolean;
}

export interface Blueprint {
  readonly name: string;
  readonly config: FullConfig;
  /** Spouts and bolts in the order in which they were added. */
  readonly components: readonly ComponentPlan[];
  readonly subscriptions: readonly Subscription[];
}
