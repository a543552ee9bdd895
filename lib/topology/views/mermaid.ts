// A topology in the language of Mermaid, which forges and editors draw in Markdown.

import { writeMermaid } from "../../graph/mermaid.js";
import type { Blueprint } from "../definition/blueprint.js";
import { type GraphOptions, graphOf } from "./graph.js";

/**
 * Writes a topology as a Mermaid flowchart, which is drawn as {@link toDot} would: spouts are ovals, bolts boxes, each
 * with its tasks; an arrow for each subscription, with its stream and grouping, coloured by the stream, solid when anchored and
 * dashed when not. Nodes are called `n1`, `n2`, …, for there are words that Mermaid takes for its own. Dotted lines are
 * dashed ones: it has no others. The same topology gives the same text.
 *
 * @throws OptionError when an option, or what one returned, is not what it has to be
 * @example
 * const inMarkdown = (blueprint: Blueprint): string => `\`\`\`mermaid\n${toMermaid(blueprint)}\`\`\`\n`;
 */
export function toMermaid(blueprint: Blueprint, options: GraphOptions = {}): string {
  return writeMermaid(graphOf(blueprint, options));
}
