// A topology as a graph: components are nodes, subscriptions are edges.

import {
  checkDirection,
  checkEdge,
  checkNode,
  type Direction,
  type EdgeLook,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type NodeLook,
  PALETTE,
} from "../../graph/graph.js";
import { only } from "../../process/known-options.js";
import { withList } from "../../process/options.js";
import { hash } from "../../process/stable-hash.js";
import type { Blueprint, ComponentPlan, Subscription } from "../definition/blueprint.js";
import { groupingLabel } from "../definition/grouping-form.js";

/** How a topology is drawn, where that differs from the defaults. */
export interface GraphOptions {
  /** The colour of a subscription, `#rrggbb` or a name. Default: {@link streamColour} of its stream. */
  readonly colour?: (subscription: Subscription) => string;
  /** The look of a component. Default: its name and parallelism; spouts are oval, bolts are boxes. */
  readonly node?: (component: ComponentPlan) => NodeLook;
  /**
   * The look of a subscription. Default: stream and grouping; solid when anchored, dashed when not. A colour in the look
   * overrides `colour`.
   */
  readonly edge?: (subscription: Subscription) => EdgeLook;
  /** From left to right, or from top to bottom. Default `LR`. */
  readonly direction?: Direction;
}

/** The colour of a stream, `#rrggbb`: the same in every graph. */
export function streamColour(stream: string): string {
  return PALETTE[hash(stream) % PALETTE.length] as string;
}

/**
 * Maps a topology to a graph.
 *
 * @throws OptionError when an option, or the result of one, is invalid
 */
export function graphOf(blueprint: Blueprint, options: GraphOptions = {}): Graph {
  withList("blueprint", blueprint, "components", "the `blueprint` of a topology");
  only("", options, ["colour", "node", "edge", "direction"]);
  return {
    name: blueprint.name,
    direction: checkDirection(options.direction ?? "LR"),
    nodes: blueprint.components.map((component) => nodeOf(component, options.node?.(component) ?? {})),
    edges: blueprint.subscriptions.map((subscription) =>
      edgeOf(subscription, options.edge?.(subscription) ?? {}, options),
    ),
  };
}

function nodeOf(component: ComponentPlan, look: NodeLook): GraphNode {
  const { name, kind } = component;
  return checkNode(`node(${name})`, {
    name,
    label: look.label ?? `${name}\n${parallelism(component)}`,
    shape: look.shape ?? (kind === "spout" ? "oval" : "box"),
    colour: look.colour,
  });
}

function edgeOf(
  subscription: Subscription,
  look: EdgeLook,
  { colour = ({ stream }) => streamColour(stream) }: GraphOptions,
): GraphEdge {
  const { from, to, stream, anchored } = subscription;
  return checkEdge(`edge(${from}.${stream} to ${to})`, {
    from,
    to,
    label: look.label ?? `${stream}: ${groupingLabel(subscription.grouping)}`,
    colour: look.colour ?? colour(subscription),
    style: look.style ?? (anchored ? "solid" : "dashed"),
  });
}

function parallelism({ tasks, executors }: ComponentPlan): string {
  const some = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
  return executors === tasks
    ? some(tasks, "task")
    : `${some(tasks, "task")} in ${some(executors, "executor")}`;
}
