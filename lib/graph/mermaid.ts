// A graph in the language of Mermaid, which forges and editors draw in Markdown.

import { type Graph, type LineStyle, linesOf, type Shape } from "./graph.js";

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
 * Writes a graph as a Mermaid flowchart. The same graph gives the same text. Nodes are called `n1`, `n2`, …, because
 * Mermaid reads some words as its own. Dotted lines become dashed ones, since Mermaid has no dotted lines.
 */
export function writeMermaid({ direction, nodes, edges }: Graph): string {
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
 * Texts that Mermaid interprets, even in quotes: `"` ends the text, `#` and `;` are character entities, `%%` a comment,
 * `$$` a formula, `<`, `>` and `&` HTML; backticks, `*`, `_`, `~`, brackets and the signs of lists are Markdown. After
 * the words `style` and `classDef` Mermaid takes the semicolon from a later entity. An underline within a word is safe.
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
