// A topology in the language of Graphviz.

import { writeDot } from "../../graph/dot.js";
import type { Blueprint } from "../definition/blueprint.js";
import { type GraphOptions, graphOf } from "./graph.js";

/**
 * Writes a topology as a directed graph for Graphviz: spouts are ellipses, bolts boxes, each with its tasks; an edge for
 * each subscription, with its stream and grouping, coloured by the stream, solid when anchored and dashed when not. The same
 * topology gives the same text.
 *
 * @throws OptionError when an option, or what one returned, is not what it has to be
 * @example
 * const upright = (blueprint: Blueprint): string => toDot(blueprint, { direction: "TB" }); // for `dot -Tsvg`
 */
export function toDot(blueprint: Blueprint, options: GraphOptions = {}): string {
  return writeDot(graphOf(blueprint, options));
}
