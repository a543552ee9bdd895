// A topology in the language of Mermaid, which forges and editors draw in Markdown.

import { writeMermaid } from "../../graph/mermaid.js";
import type { Blueprint } from "../definition/blueprint.js";
import { type GraphOptions, graphOf } from "./graph.js";

/**
 * Writes a topology as a Mermaid flowchart, which looks like the graph of {@link toDot}. Spouts are ovals and bolts are
 * boxes, each with its number of tasks. Each subscription is an arrow with its stream and grouping, in the colour of the
 * stream, solid when anchored and dashed when not. Nodes are called `n1`, `n2`, …, because Mermaid reserves some words.
 * Dotted lines become dashed ones, since Mermaid has no dotted lines. The same topology gives the same text.
 *
 * @throws OptionError when an option, or the result of one, is invalid
 * @example
 * const inMarkdown = (blueprint: Blueprint): string => `\`\`\`mermaid\n${toMermaid(blueprint)}\`\`\`\n`;
 */
export function toMermaid(blueprint: Blueprint, options: GraphOptions = {}): string {
  return writeMermaid(graphOf(blueprint, options));
}
