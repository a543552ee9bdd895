// A directed graph with everything decided that can be drawn. The writers of the graph languages only spell it, and the
// parts of the library map what they have to it: a topology its components and subscriptions, for instance.

import { OptionError } from "../process/errors.js";
import { oneOf } from "../process/options.js";

/** Shapes of nodes. Every graph language has them. */
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

/** Styles of the line of an edge. */
export type LineStyle = (typeof STYLES)[number];
const STYLES = ["solid", "dashed", "dotted", "bold"] as const;

/** `LR` draws from left to right, `TB` from top to bottom. */
export type Direction = (typeof DIRECTIONS)[number];
const DIRECTIONS = ["LR", "TB"] as const;

/** How a node is drawn. Each part has a default. */
export interface NodeLook {
  /** May have several lines. */
  readonly label?: string;
  /** Outline of the node. */
  readonly shape?: Shape;
  /** Colour of the frame: `#rrggbb` or the name of a colour. */
  readonly colour?: string;
}

/** How an edge is drawn. Each part has a default. */
export interface EdgeLook {
  /** Text beside the line. May have several lines. */
  readonly label?: string;
  /** `#rrggbb` or the name of a colour. */
  readonly colour?: string;
  /** How the line is drawn. Mermaid draws `dotted` as `dashed`. */
  readonly style?: LineStyle;
}

/** A node of a {@link Graph}; edges refer to its name. */
export interface GraphNode {
  readonly name: string;
  readonly label: string;
  readonly shape: Shape;
  readonly colour: string | undefined;
}

/** An edge of a {@link Graph}, between two nodes by their names. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly colour: string;
  readonly style: LineStyle;
}

/** A graph that `writeDot` and `writeMermaid` write. */
export interface Graph {
  readonly name: string;
  readonly direction: Direction;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** Dark enough to read on white, light enough to see on black. */
export const PALETTE: readonly string[] = [
  "#1f6fb2",
  "#b3452c",
  "#2e8540",
  "#7a4fb5",
  "#a06a00",
  "#0f8080",
  "#b83280",
  "#5f6b1a",
  "#4a5ad4",
  "#8a4b2a",
  "#4f6d7a",
  "#c2410c",
];

/** @throws OptionError */
export function checkDirection(value: Direction): Direction {
  return oneOf("direction", value, DIRECTIONS);
}

/**
 * Checks a node.
 *
 * @param path - name of the node in error texts
 * @throws OptionError
 */
export function checkNode(path: string, node: GraphNode): GraphNode {
  const { name, label, shape, colour } = node;
  return {
    name,
    label,
    shape: oneOf(`${path}.shape`, shape, SHAPES),
    colour: colour === undefined ? undefined : checkColour(`${path}.colour`, colour),
  };
}

/**
 * Checks an edge.
 *
 * @param path - name of the edge in error texts
 * @throws OptionError
 */
export function checkEdge(path: string, { from, to, label, colour, style }: GraphEdge): GraphEdge {
  return {
    from,
    to,
    label,
    colour: checkColour(`${path}.colour`, colour),
    style: oneOf(`${path}.style`, style, STYLES),
  };
}

/** Every graph language reads this as a colour, and none ends a quoted text within it. */
const COLOUR = /^(?:#[0-9a-f]{6}|[a-z]+)$/i;

function checkColour(path: string, value: unknown): string {
  if (typeof value === "string" && COLOUR.test(value)) return value;
  throw new OptionError(path, value, "a colour, #rrggbb or a name of letters");
}

const CONTROL = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The lines of a label. Characters that would break a line of the output, or that cannot be written, are replaced. */
export function linesOf(label: string): readonly string[] {
  return label.replace(CONTROL, "\ufffd").split("\n");
}
