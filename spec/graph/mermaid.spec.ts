// Mermaid flowcharts: whatever the names and labels of a graph, they can be read back from its text.

import { fc, test as property } from "@fast-check/vitest";
import { expect } from "vitest";
import type { Graph, LineStyle, Shape } from "../../lib/graph/graph.js";
import { writeMermaid } from "../../lib/graph/mermaid.js";

const SHAPES: Readonly<Record<Shape, RegExp>> = {
  box: /^n\d+\["(.*)"\]$/,
  rounded: /^n\d+\("(.*)"\)$/,
  oval: /^n\d+\(\["(.*)"\]\)$/,
  circle: /^n\d+\(\("(.*)"\)\)$/,
  diamond: /^n\d+\{"(.*)"\}$/,
  hexagon: /^n\d+\{\{"(.*)"\}\}$/,
  cylinder: /^n\d+\[\("(.*)"\)\]$/,
  parallelogram: /^n\d+\[\/"(.*)"\/\]$/,
};
const EDGE = /^(n\d+) (-->|-\.->|==>)\|"(.*)"\| (n\d+)$/;
const STYLE = /^(?:style n\d+ stroke|linkStyle \d+ stroke:\S+,color):(?:#[0-9a-f]{6}|[a-z]+)$/;
/** No end of text, comment, formula, directive or markup. */
const TEXT = /^(?:[^"#;%$<>&`*~\\[\]|\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|#\d+;|<br\/>)+$/u;
/** Mermaid takes the last semicolon from lines like these. */
const EATEN = /(?:style|classDef).*:\S*#.*;/;

function decode(text: string | undefined): string {
  expect(text).toMatch(TEXT);
  return (text as string)
    .replaceAll("<br/>", "\n")
    .replace(/#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

/** Characters that cannot be written are replaced. */
const written = (text: string): string => text.replace(/(?!\n)[\p{Cc}\p{Cs}\u2028\u2029]/gu, "\ufffd");

const UNITS = [
  ...'"\\<>&;#%$`*_~[](){}|/-+=.: \n\r\0aé日1',
  "style",
  "classDef",
  "end",
  "#35;",
  "<br/>",
  "\ud800",
];
const name = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 12 }),
  fc.constantFrom("end", "graph", "subgraph", "__proto__", "%%{init}%%", "linkStyle 0", "click", "default"),
);
const shape = fc.constantFrom(...(Object.keys(SHAPES) as Shape[]));
const style = fc.constantFrom<LineStyle>("solid", "dashed", "dotted", "bold");

property.prop([fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), name, name, shape, style])(
  "any names and labels can be read back from Mermaid",
  (names, title, label, as, line) => {
    const last = names.at(-1) as string;
    const graph: Graph = {
      name: title,
      direction: "LR",
      nodes: names.map((one) => ({ name: one, label: `${one}\n1 task`, shape: as, colour: "red" })),
      edges: names.map((from) => ({ from, to: last, label: `x${label}`, colour: "#aabbcc", style: line })),
    };
    const [head, ...lines] = writeMermaid(graph).split("\n");
    expect(head).toBe("flowchart LR");
    expect(lines.pop()).toBe("");
    expect(lines).toHaveLength(4 * names.length);
    for (const one of lines) expect(one).not.toMatch(EATEN);
    const statements = lines.map((one) => one.slice(2));
    for (const [at, one] of names.entries()) {
      expect(decode(SHAPES[as].exec(statements[at] as string)?.[1])).toBe(`${written(one)}\n1 task`);
      const [, from, , text, to] = EDGE.exec(statements[names.length + at] as string) ?? [];
      expect([from, to]).toEqual([`n${at + 1}`, `n${names.length}`]);
      expect(decode(text)).toBe(`x${written(label)}`);
    }
    for (const one of statements.slice(2 * names.length)) expect(one).toMatch(STYLE);
  },
);
