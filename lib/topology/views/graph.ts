// A topology as nodes and edges with everything that is to be drawn decided: what the writers of graph languages share.
// Each of them only spells it.

import { hash } from "../../dispatch/route.js";
import { OptionError } from "../../process/errors.js";
import { oneOf } from "../../process/options.js";
import type { Blueprint, ComponentPlan, Subscription } from "../definition/blueprint.js";

/** Shapes that every graph language has. */
export type Shape = (typeof SHAPES)[number];
const SHAPES = [
  "box",
  "rounded",
  "oval",
  "circle",
  "diamond",
  "hexagon",
  "cylinder",
  "parallelogram",
] as const;

export type LineStyle = (typeof STYLES)[number];
const STYLES = ["solid", "dashed", "dotted", "bold"] as const;

export type Direction = (typeof DIRECTIONS)[number];
const DIRECTIONS = ["LR", "TB"] as const;

/** How a component is drawn; what is left out is as it would be anyway. */
export interface NodeLook {
  /** May have several lines. */
  readonly label?: string;
  readonly shape?: Shape;
  /** Of the frame: `#rrggbb` or the name of a colour. */
  readonly colour?: string;
}

/** How a subscription is drawn; what is left out is as it would be anyway. */
export interface EdgeLook {
  readonly label?: string;
  /** `#rrggbb` or the name of a colour. */
  readonly colour?: string;
  readonly style?: LineStyle;
}

/** What may be changed about a graph. */
export interface GraphOptions {
  /** The colour of a subscription, `#rrggbb` or a name. Default: {@link streamColour} of its stream. */
  readonly colour?: (subscription: Subscription) => string;
  /** Default: its name and parallelism; spouts are oval, bolts are boxes. */
  readonly node?: (component: ComponentPlan) => NodeLook;
  /** Default: stream and grouping; solid when anchored, dashed when not. Comes before `colour`. */
  readonly edge?: (subscription: Subscription) => EdgeLook;
  /** From left to right, or from top to bottom. Default `LR`. */
  readonly direction?: Direction;
}

export interface GraphNode {
  readonly name: string;
  readonly label: string;
  readonly shape: Shape;
  readonly colour: string | undefined;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly colour: string;
  readonly style: LineStyle;
}

export interface Graph {
  readonly name: string;
  readonly direction: Direction;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** Dark enough to be read on white, light enough to be seen on black. */
const PALETTE = [
  ...["#1f6fb2", "#b3452c", "#2e8540", "#7a4fb5", "#a06a00", "#0f8080"],
  ...["#b83280", "#5f6b1a", "#4a5ad4", "#8a4b2a", "#4f6d7a", "#c2410c"],
] as const;

/** The same colour for the same name of a stream, in every graph: `#rrggbb`. */
export function streamColour(stream: string): string {
  return PALETTE[hash(stream) % PALETTE.length] as string;
}

/** What to call a subscription's grouping. */
export function groupingLabel({ grouping }: Subscription): string {
  if (grouping.everyone === true) return "all";
  return grouping.label || grouping.name || "custom";
}

/**
 * Decides how a topology is drawn.
 *
 * @throws OptionError when an option, or what one returned, is not what it has to be
 */
export function graphOf(blueprint: Blueprint, options: GraphOptions = {}): Graph {
  return {
    name: blueprint.name,
    direction: oneOf("direction", options.direction ?? "LR", DIRECTIONS),
    nodes: blueprint.components.map((component) => nodeOf(component, options.node?.(component) ?? {})),
    edges: blueprint.subscriptions.map((subscription) =>
      edgeOf(subscription, options.edge?.(subscription) ?? {}, options),
    ),
  };
}

function nodeOf(component: ComponentPlan, look: NodeLook): GraphNode {
  const { name, kind } = component;
  const path = `node(${name})`;
  return {
    name,
    label: look.label ?? `${name}\n${parallelism(component)}`,
    shape: oneOf(`${path}.shape`, look.shape ?? (kind === "spout" ? "oval" : "box"), SHAPES),
    colour: look.colour === undefined ? undefined : checkColour(`${path}.colour`, look.colour),
  };
}

function edgeOf(
  subscription: Subscription,
  look: EdgeLook,
  { colour = ({ stream }) => streamColour(stream) }: GraphOptions,
): GraphEdge {
  const path = `edge(${subscription.from}.${subscription.stream} to ${subscription.to})`;
  return {
    from: subscription.from,
    to: subscription.to,
    label: look.label ?? `${subscription.stream}: ${groupingLabel(subscription)}`,
    colour: checkColour(`${path}.colour`, look.colour ?? colour(subscription)),
    style: oneOf(`${path}.style`, look.style ?? (subscription.anchored ? "solid" : "dashed"), STYLES),
  };
}

function parallelism({ tasks, executors }: ComponentPlan): string {
  const some = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
  return executors === tasks
    ? some(tasks, "task")
    : `${some(tasks, "task")} in ${some(executors, "executor")}`;
}

/** What every graph language can read as a colour, and nothing that would end the place where it stands. */
const COLOUR = /^(?:#[0-9a-f]{6}|[a-z]+)$/i;

function checkColour(path: string, value: unknown): string {
  if (typeof value === "string" && COLOUR.test(value)) return value;
  throw new OptionError(path, value, "a colour, #rrggbb or a name of letters");
}

const CONTROL = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** @internal The lines of a label, without characters that would break a line of the output or cannot be written. */
export function linesOf(label: string): readonly string[] {
  return label.replace(CONTROL, "\ufffd").split("\n");
}
