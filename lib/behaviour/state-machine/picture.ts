// A state machine as a graph: states are nodes, and each declared target of a handler is an edge.

import { writeDot } from "../../graph/dot.js";
import { checkDirection, type Direction, type Graph, type GraphEdge, PALETTE } from "../../graph/graph.js";
import { writeMermaid } from "../../graph/mermaid.js";
import { only } from "../../process/known-options.js";
import type { Table } from "./table.js";

/** How a state machine is drawn. */
export interface MachinePictureOptions {
  /** From left to right, or from top to bottom. Default `LR`. */
  readonly direction?: Direction;
}

/** The name of the node from which the machine starts. No state can have it, for states have names of users. */
const START = "\u0000start";

function edge(from: string, to: string, label: string, style: GraphEdge["style"] = "solid"): GraphEdge {
  return { from, to, label, colour: PALETTE[0] as string, style };
}

/** Events with the same two states share an edge. Postponed events have none: they wait, wherever the machine goes. */
function graphOf(name: string, table: Table, options: MachinePictureOptions): Graph {
  only("", options, ["direction"]);
  const states = Object.keys(table.states);
  const edges = table.initial.map((state) => edge(START, state, " "));
  for (const from of states) {
    const events = new Map<string, string[]>();
    for (const [event, cell] of Object.entries(table.states[from]?.cells ?? {})) {
      for (const target of cell?.targets ?? []) events.set(target, [...(events.get(target) ?? []), event]);
    }
    for (const [target, types] of events) edges.push(edge(from, target, types.join("\n")));
  }
  return {
    name,
    direction: checkDirection(options.direction ?? "LR"),
    nodes: [
      { name: START, label: " ", shape: "circle", colour: undefined },
      ...states.map((state) => ({ name: state, label: state, shape: "rounded", colour: undefined }) as const),
    ],
    edges,
  };
}

export function machineMermaid(name: string, table: Table, options: MachinePictureOptions = {}): string {
  return writeMermaid(graphOf(name, table, options));
}

export function machineDot(name: string, table: Table, options: MachinePictureOptions = {}): string {
  return writeDot(graphOf(name, table, options));
}
