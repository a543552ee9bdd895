// A topology in the language of Graphviz.

import { writeDot } from "../../graph/dot.js";
import type { Blueprint } from "../definition/blueprint.js";
import { type GraphOptions, graphOf } from "./graph.js";

/**
 * Writes a topology as a directed graph for Graphviz. Spouts are ellipses and bolts are boxes, each with its number of
 * tasks. Each subscription is an edge with its stream and grouping. The stream decides the colour of an edge; the edge is
 * solid when the stream is anchored, and dashed when it is not. The same topology gives the same text.
 *
 * @throws OptionError when an option, or the result of one, is invalid
 * @example
 * const upright = (blueprint: Blueprint): string => toDot(blueprint, { direction: "TB" }); // for `dot -Tsvg`
 */
export function toDot(blueprint: Blueprint, options: GraphOptions = {}): string {
  return writeDot(graphOf(blueprint, options));
}
