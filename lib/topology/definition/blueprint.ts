// A topology as checked data. The builder makes it; the host, the graphs and other hosts read it.

import type { RoutingFunction } from "../../dispatch/route.js";
import type { Definition } from "./component.js";
import type { FullComponentConfig, FullConfig } from "./config.js";
import type { Fields, Streams } from "./field.js";

/** Chooses the task of a bolt that gets a tuple: a routing function of dispatch. */
export type Grouping<V> = RoutingFunction<V>;

/** A component in its place in a topology. */
export interface ComponentPlan {
  /** Name of the component. */
  readonly name: string;
  /** `spout`: the component brings tuples into the topology. `bolt`: the component works on tuples. */
  readonly kind: "spout" | "bolt";
  /** The result of `spout()` or `bolt()`. */
  readonly definition: Definition;
  /** The streams that the component emits on, each with its fields. */
  readonly streams: Streams;
  /** How many tasks it has. Each is a process. */
  readonly tasks: number;
  /** How many supervisors its tasks are spread over, at most one for each task. */
  readonly executors: number;
  /** The configuration of the component, with every default filled in. */
  readonly config: FullComponentConfig;
}

/** A subscription of a bolt to a stream. */
export interface Subscription {
  /** The component that emits the stream. */
  readonly from: string;
  /** Name of the stream. */
  readonly stream: string;
  /** The bolt that subscribes. */
  readonly to: string;
  /** The fields of the stream, in order. */
  readonly fields: Fields;
  /** Chooses the task of the bolt that gets a tuple. */
  readonly grouping: Grouping<never>;
  /** Whether a tuple that is sent along it joins the trees of the tuples that it was emitted for. */
  readonly anchored: boolean;
}

/** A whole topology as checked data. */
export interface Blueprint {
  /** Name of the topology. */
  readonly name: string;
  /** The configuration of the topology, with its defaults filled in; see {@link FullConfig}. */
  readonly config: FullConfig;
  /** Spouts and bolts in the order in which they were added. */
  readonly components: readonly ComponentPlan[];
  /** The subscriptions of all bolts, in the order in which they were added. */
  readonly subscriptions: readonly Subscription[];
}
