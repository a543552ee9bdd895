// A topology in Mermaid's language: a small one in full, what may be changed, and that any names can be read back.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import type { Blueprint, ComponentPlan, Subscription } from "../../../lib/topology/definition/blueprint.js";
import { bolt, spout } from "../../../lib/topology/definition/component.js";
import { fullConfig } from "../../../lib/topology/definition/config.js";
import { field } from "../../../lib/topology/definition/field.js";
import type { GraphOptions, LineStyle, Shape } from "../../../lib/topology/views/graph.js";
import { toMermaid } from "../../../lib/topology/views/mermaid.js";

const config = fullConfig();
const source = spout({ streams: { text: { text: field.text } }, next: () => undefined });
const work = bolt({ input: { text: field.text }, execute: () => undefined });

function plan(name: string, kind: "spout" | "bolt", tasks = 1, executors = tasks): ComponentPlan {
  const definition = kind === "spout" ? source : work;
  return { name, kind, definition, streams: definition.streams, tasks, executors, config };
}

function subscription(
  from: string,
  stream: string,
  to: string,
  label: string,
  anchored = true,
): Subscription {
  return { from, stream, to, grouping: Object.assign(() => undefined, { label }), anchored, fields: {} };
}

const words: Blueprint = {
  name: "words",
  config,
  components: [plan("lines", "spout"), plan("split", "bolt", 4, 2), plan("word_count", "bolt", 3)],
  subscriptions: [
    subscription("lines", "text", "split", "shuffle"),
    subscription("split", "words", "word_count", "fields(word)"),
    subscription("lines", "dead", "word_count", "shuffle", false),
  ],
};

describe("a topology in Mermaid", () => {
  test("has a node for each component and an arrow for each subscription", () => {
    expect(toMermaid(words)).toBe(`flowchart LR
  n1(["lines<br/>1 task"])
  n2["split<br/>4 tasks in 2 executors"]
  n3["word_count<br/>3 tasks"]
  n1 -->|"text: shuffle"| n2
  n2 -->|"words: fields(word)"| n3
  n1 -.->|"dead: shuffle"| n3
  linkStyle 0 stroke:#8a4b2a,color:#8a4b2a
  linkStyle 1 stroke:#2e8540,color:#2e8540
  linkStyle 2 stroke:#c2410c,color:#c2410c
`);
  });

  test("lets everything be drawn in another way", () => {
    const options: GraphOptions = {
      direction: "TB",
      colour: ({ stream }) => (stream === "text" ? "navy" : "#aabbcc"),
      node: ({ name }) => (name === "split" ? { label: "cut\nup", shape: "cylinder", colour: "red" } : {}),
      edge: ({ stream }) =>
        stream === "dead" ? { label: "given up", colour: "#000000", style: "bold" } : {},
    };
    expect(toMermaid(words, options)).toBe(`flowchart TB
  n1(["lines<br/>1 task"])
  n2[("cut<br/>up")]
  n3["word_count<br/>3 tasks"]
  n1 -->|"text: shuffle"| n2
  n2 -->|"words: fields(word)"| n3
  n1 ==>|"given up"| n3
  style n2 stroke:red
  linkStyle 0 stroke:navy,color:navy
  linkStyle 1 stroke:#aabbcc,color:#aabbcc
  linkStyle 2 stroke:#000000,color:#000000
`);
  });

  test("writes as entities what is syntax or markup, and only that", () => {
    const label = (text: string): string | undefined =>
      /n1\(\["(.*)"\]\)/.exec(toMermaid(words, { node: () => ({ label: text }) }))?.[1];
    expect(label('a "b"; #c')).toBe("a #34;b#34;#59; #35;c");
    expect(label("snake_case-name")).toBe("snake_case-name");
    expect(label("__proto__")).toBe("#95;#95;proto#95;#95;");
    expect(label("1. first\n- second")).toBe("1#46; first<br/>#45; second");
    expect(label("style: x")).toBe("#115;tyle: x");
    expect(label("")).toBe(" ");
  });

  test("refuses a colour that is none", () => {
    expect(() => toMermaid(words, { colour: () => "red,fill:blue" })).toThrow(OptionError);
  });
});

// ── what Mermaid reads, as far as it is used here ───────────────────────────────────────────────────────────────────

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

/** What cannot be written is replaced. */
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
  (names, stream, label, as, line) => {
    const last = names.at(-1) as string;
    const blueprint: Blueprint = {
      ...{ name: label, config },
      components: names.map((one) => plan(one, "bolt")),
      subscriptions: names.map((one) => subscription(one, stream, last, `x${label}`)),
    };
    const look: GraphOptions = { node: () => ({ shape: as, colour: "red" }), edge: () => ({ style: line }) };
    const [head, ...lines] = toMermaid(blueprint, look).split("\n");
    expect(head).toBe("flowchart LR");
    expect(lines.pop()).toBe("");
    expect(lines).toHaveLength(4 * names.length);
    for (const one of lines) expect(one).not.toMatch(EATEN);
    const statements = lines.map((one) => one.slice(2));
    for (const [at, one] of names.entries()) {
      expect(decode(SHAPES[as].exec(statements[at] as string)?.[1])).toBe(`${written(one)}\n1 task`);
      const [, from, , text, to] = EDGE.exec(statements[names.length + at] as string) ?? [];
      expect([from, to]).toEqual([`n${at + 1}`, `n${names.length}`]);
      expect(decode(text)).toBe(`${written(stream)}: x${written(label)}`);
    }
    for (const one of statements.slice(2 * names.length)) expect(one).toMatch(STYLE);
  },
);
