// A topology in the language of Mermaid, which forges and editors draw in Markdown.

import type { Blueprint } from "../definition/blueprint.js";
import { type GraphOptions, graphOf, type LineStyle, linesOf, type Shape } from "./graph.js";

const SHAPES: Readonly<Record<Shape, readonly [open: string, close: string]>> = {
  box: ["[", "]"],
  rounded: ["(", ")"],
  oval: ["([", "])"],
  circle: ["((", "))"],
  diamond: ["{", "}"],
  hexagon: ["{{", "}}"],
  cylinder: ["[(", ")]"],
  parallelogram: ["[/", "/]"],
};

const ARROWS: Readonly<Record<LineStyle, string>> = {
  solid: "-->",
  dashed: "-.->",
  dotted: "-.->",
  bold: "==>",
};

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
  const { direction, nodes, edges } = graphOf(blueprint, options);
  const ids = new Map(nodes.map(({ name }, at) => [name, `n${at + 1}`]));
  const id = (name: string): string => ids.get(name) as string;
  const lines = [
    ...nodes.map(({ name, label, shape }) => {
      const [open, close] = SHAPES[shape];
      return `${id(name)}${open}${text(label)}${close}`;
    }),
    ...edges.map(({ from, to, label, style }) => `${id(from)} ${ARROWS[style]}|${text(label)}| ${id(to)}`),
    ...nodes.flatMap(({ name, colour }) =>
      colour === undefined ? [] : [`style ${id(name)} stroke:${colour}`],
    ),
    ...edges.map(({ colour }, at) => `linkStyle ${at} stroke:${colour},color:${colour}`),
  ];
  return [`flowchart ${direction}`, ...lines.map((line) => `  ${line}`), ""].join("\n");
}

/**
 * What Mermaid would not take as it is, even in quotes: `"` ends the text, `#` and `;` are character entities, `%%` a
 * comment, `$$` a formula, `<`, `>` and `&` HTML; backticks, `*`, `_`, `~`, brackets and the signs of lists are Markdown.
 * Then the words `style` and `classDef`, with which it takes the semicolon from an entity further on. An underline
 * within a word is none of these.
 */
const UNSAFE =
  /["#;%$<>&`*~\\[\]|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|(?<=^\s*)[-+=]|(?<=^\s*\d+)[.)]|style|classDef/gu;

function text(label: string): string {
  const lines = linesOf(label).map((line) =>
    line.replace(UNSAFE, (found) => `#${found.charCodeAt(0)};${found.slice(1)}`),
  );
  const written = lines.join("<br/>");
  return `"${written.trim() === "" ? " " : written}"`;
}
