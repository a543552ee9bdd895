// Places the nodes and edges of a graph. The layout depends on the shape of the graph alone, so that numbers that change move nothing.

import { Graph, layout } from "@dagrejs/dagre";

export interface GraphNode {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface GraphEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** Room for its label. */
  readonly width: number;
  readonly height: number;
}

export interface GraphShape {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly direction: "right" | "down";
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Corners are at the upper left; a label is placed by its middle. */
export interface PlacedGraph {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly (GraphNode & Place)[];
  readonly edges: readonly (GraphEdge & { readonly path: string; readonly label: Place })[];
}

/** Nodes and edges that are drawn at most: beyond that nobody can read a picture, and the layout would block the page. */
export const GRAPH_LIMITS: { readonly nodes: number; readonly edges: number } = { nodes: 150, edges: 400 };

const MARGIN = 8;

/** Undefined: the graph is too large to be drawn. Edges whose ends are not among the nodes are left out. */
export function place({ nodes, edges, direction }: GraphShape): PlacedGraph | undefined {
  if (nodes.length > GRAPH_LIMITS.nodes || edges.length > GRAPH_LIMITS.edges) return undefined;
  if (nodes.length === 0) return { width: 0, height: 0, nodes: [], edges: [] };
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: direction === "right" ? "LR" : "TB",
    nodesep: 24,
    edgesep: 16,
    ranksep: 20,
    marginx: MARGIN,
    marginy: MARGIN,
  });
  const known = new Map(nodes.map((node) => [node.id, node]));
  for (const { id, width, height } of nodes) graph.setNode(id, { width, height });
  const drawn = edges.filter(({ from, to }) => known.has(from) && known.has(to));
  for (const { id, from, to, width, height } of drawn)
    graph.setEdge(from, to, { width, height, labelpos: "c" }, id);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    nodes: nodes.map((node) => {
      const { x, y } = graph.node(node.id) as Place;
      return { ...node, x: x - node.width / 2, y: y - node.height / 2 };
    }),
    edges: drawn.map((edge) => {
      const { points, x, y } = graph.edge(edge.from, edge.to, edge.id) as {
        readonly points: readonly Place[];
      } & Place;
      return { ...edge, path: pathOf(points), label: { x, y } };
    }),
  };
}

/** A smooth line through the points: each point between the ends pulls the line, as in a quadratic curve. */
export function pathOf(points: readonly Place[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const parts = [`M${at(first)}`];
  const last = rest.pop();
  for (const [i, point] of rest.entries()) {
    const next = rest[i + 1] ?? last ?? point;
    const end = i === rest.length - 1 ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    parts.push(`Q${at(point)} ${at(end)}`);
  }
  if (rest.length === 0 && last !== undefined) parts.push(`L${at(last)}`);
  return parts.join("");
}

const at = ({ x, y }: Place): string => `${round(x)} ${round(y)}`;
const round = (value: number): number => Math.round(value * 10) / 10;

/** The shape as a text: two graphs with the same text have the same layout. */
export function shapeKey({ nodes, edges, direction }: GraphShape): string {
  return JSON.stringify([
    direction,
    nodes.map(({ id, width, height }) => [id, width, height]),
    edges.map(({ id, from, to, width, height }) => [id, from, to, width, height]),
  ]);
}
