// A graph in the language of Graphviz.

import { type Graph, linesOf, type Shape } from "./graph.js";

const SHAPES: Readonly<Record<Shape, readonly string[]>> = {
  box: ["shape=box"],
  rounded: ["shape=box", "style=rounded"],
  oval: ["shape=ellipse"],
  circle: ["shape=circle"],
  diamond: ["shape=diamond"],
  hexagon: ["shape=hexagon"],
  cylinder: ["shape=cylinder"],
  parallelogram: ["shape=parallelogram"],
};

/** Writes a graph for Graphviz. The same graph gives the same text. */
export function writeDot({ name, direction, nodes, edges }: Graph): string {
  return [
    `digraph ${id(name)} {`,
    `  rankdir=${direction};`,
    ...nodes.map(({ name, label, shape, colour }) => {
      const colours = colour === undefined ? [] : [`color=${quoted([colour])}`];
      return `  ${id(name)} [${[`label=${text(label)}`, ...SHAPES[shape], ...colours].join(", ")}];`;
    }),
    ...edges.map(({ from, to, label, colour, style }) => {
      const colours = [`color=${quoted([colour])}`, `fontcolor=${quoted([colour])}`];
      return `  ${id(from)} -> ${id(to)} [${[`label=${text(label)}`, ...colours, `style=${style}`].join(", ")}];`;
    }),
    "}",
    "",
  ].join("\n");
}

function id(name: string): string {
  return quoted(linesOf(name));
}

/** In labels Graphviz reads HTML's character entities, even in quotes. */
function text(label: string): string {
  return quoted(linesOf(label).map((line) => line.replaceAll("&", "&amp;")));
}

function quoted(lines: readonly string[]): string {
  return `"${lines.map((line) => line.replace(/["\\]/g, "\\$&")).join("\\n")}"`;
}
