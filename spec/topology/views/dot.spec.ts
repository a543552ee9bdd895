// A topology in Graphviz's language: a small one in full, and every part drawn in another way.

import { describe, expect, test } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import type {
  Blueprint,
  ComponentPlan,
  Grouping,
  Subscription,
} from "../../../lib/topology/definition/blueprint.js";
import { bolt, spout } from "../../../lib/topology/definition/component.js";
import { fullConfig } from "../../../lib/topology/definition/config.js";
import { field } from "../../../lib/topology/definition/field.js";
import { toDot } from "../../../lib/topology/views/dot.js";
import { type GraphOptions, streamColour } from "../../../lib/topology/views/graph.js";

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
  grouping: Grouping<never>,
  anchored = true,
): Subscription {
  return { from, stream, to, grouping, anchored, fields: {} };
}

function labelled(label: string): Grouping<never> {
  return Object.assign(() => undefined, { label });
}

const words: Blueprint = {
  name: "words",
  config,
  components: [plan("lines", "spout"), plan("split", "bolt", 4, 2), plan("count", "bolt", 3)],
  subscriptions: [
    subscription("lines", "text", "split", labelled("shuffle")),
    subscription("split", "words", "count", labelled("fields(word)")),
    subscription("lines", "dead", "count", labelled("shuffle"), false),
  ],
};

describe("a topology in DOT", () => {
  test("has a node for each component and an edge for each subscription", () => {
    expect(toDot(words)).toBe(`digraph "words" {
  rankdir=LR;
  "lines" [label="lines\\n1 task", shape=ellipse];
  "split" [label="split\\n4 tasks in 2 executors", shape=box];
  "count" [label="count\\n3 tasks", shape=box];
  "lines" -> "split" [label="text: shuffle", color="#8a4b2a", fontcolor="#8a4b2a", style=solid];
  "split" -> "count" [label="words: fields(word)", color="#2e8540", fontcolor="#2e8540", style=solid];
  "lines" -> "count" [label="dead: shuffle", color="#c2410c", fontcolor="#c2410c", style=dashed];
}
`);
  });

  test("calls a grouping by its label, or else by its function's name", () => {
    const byLength: Grouping<never> = () => undefined;
    const label = (grouping: Grouping<never>): string | undefined =>
      /label="text: (.*?)"/.exec(
        toDot({ ...words, subscriptions: [subscription("lines", "text", "split", grouping)] }),
      )?.[1];
    expect(label(labelled("fields(word)"))).toBe("fields(word)");
    expect(label(byLength)).toBe("byLength");
    expect(label(Object.assign(() => undefined, { label: "" }))).toBe("custom");
    expect(label(Object.assign(() => undefined, { label: "each", everyone: true }))).toBe("all");
  });

  test("gives a stream the same colour everywhere", () => {
    expect(streamColour("words")).toBe(streamColour("words"));
    const colours = new Set(Array.from({ length: 200 }, (_, at) => streamColour(`stream${at}`)));
    expect(colours.size).toBe(12);
  });

  test("lets everything be drawn in another way", () => {
    const options: GraphOptions = {
      direction: "TB",
      colour: ({ stream }) => (stream === "text" ? "navy" : "#aabbcc"),
      node: ({ name }) => (name === "split" ? { label: "cut\nup", shape: "rounded", colour: "red" } : {}),
      edge: ({ stream }) =>
        stream === "dead" ? { label: "given up", colour: "#000000", style: "bold" } : {},
    };
    expect(toDot(words, options)).toBe(`digraph "words" {
  rankdir=TB;
  "lines" [label="lines\\n1 task", shape=ellipse];
  "split" [label="cut\\nup", shape=box, style=rounded, color="red"];
  "count" [label="count\\n3 tasks", shape=box];
  "lines" -> "split" [label="text: shuffle", color="navy", fontcolor="navy", style=solid];
  "split" -> "count" [label="words: fields(word)", color="#aabbcc", fontcolor="#aabbcc", style=solid];
  "lines" -> "count" [label="given up", color="#000000", fontcolor="#000000", style=bold];
}
`);
  });

  test.each<[string, unknown, string]>([
    ["a direction", { direction: "RL" }, "direction must be"],
    ["a shape", { node: () => ({ shape: "star" }) }, "node(lines).shape must be"],
    ["a node's colour", { node: () => ({ colour: "#abc" }) }, "node(lines).colour must be"],
    ["a subscription's colour", { colour: () => 'red"]' }, "edge(lines.text to split).colour must be"],
    ["a style", { edge: () => ({ style: "wavy" }) }, "edge(lines.text to split).style must be"],
  ])("refuses %s that it does not know", (_what, options, message) => {
    const draw = (): string => toDot(words, options as GraphOptions);
    expect(draw).toThrow(OptionError);
    expect(draw).toThrow(message);
  });
});
