// A topology in Mermaid's language: a small one in full, and every part drawn in another way.

import { describe, expect, test } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import type { Blueprint, ComponentPlan, Subscription } from "../../../lib/topology/definition/blueprint.js";
import { bolt, spout } from "../../../lib/topology/definition/component.js";
import { fullConfig } from "../../../lib/topology/definition/config.js";
import { field } from "../../../lib/topology/definition/field.js";
import type { GraphOptions } from "../../../lib/topology/views/graph.js";
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
