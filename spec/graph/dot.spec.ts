// Graphviz: whatever the names and labels of a graph, they can be read back from its text.

import { fc, test as property } from "@fast-check/vitest";
import { expect } from "vitest";
import { writeDot } from "../../lib/graph/dot.js";
import type { Graph } from "../../lib/graph/graph.js";

interface Read {
  readonly nodes: Map<string, Record<string, string>>;
  readonly edges: { from: string; to: string; attributes: Record<string, string> }[];
}

/** A parser of its own: tokens, then statements. Throws at anything else. */
function parse(dot: string): Read {
  const tokens = [...dot.matchAll(/\s+|("(?:[^"\\\n]|\\[^\n])*")|(\w+)|(->|[{}[\],;=])|([\s\S])/g)]
    .filter(([, quoted, word, sign, other]) => quoted ?? word ?? sign ?? other)
    .map(([token, , , , other]) => {
      if (other !== undefined) throw new Error(`unexpected ${JSON.stringify(other)}`);
      return token;
    });
  const next = (expected?: string): string => {
    const token = tokens.shift();
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`expected ${expected ?? "more"}; got ${token}`);
    return token;
  };
  const id = (): string => {
    const token = next();
    if (!/^["\w]/.test(token)) throw new Error(`expected an id; got ${token}`);
    return token.startsWith('"')
      ? token.slice(1, -1).replace(/\\(.)/gu, (_, char: string) => (char === "n" ? "\n" : char))
      : token;
  };
  const read: Read = { nodes: new Map(), edges: [] };
  next("digraph");
  id();
  next("{");
  while (tokens[0] !== "}") {
    const from = id();
    if (tokens[0] === "=") {
      next("=");
      id();
    } else {
      const edge = tokens[0] === "->" && next("->");
      const to = edge ? id() : undefined;
      const attributes: Record<string, string> = {};
      next("[");
      for (;;) {
        const name = id();
        next("=");
        attributes[name] = id().replaceAll("&amp;", "&");
        if (next() === "]") break;
      }
      if (to === undefined) read.nodes.set(from, attributes);
      else read.edges.push({ from, to, attributes });
    }
    next(";");
  }
  next("}");
  if (tokens.length > 0) throw new Error(`after the end: ${tokens.join(" ")}`);
  return read;
}

/** Signs and words that mean something to Graphviz, in names and labels that are otherwise of any characters. */
const name = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({
    unit: fc.constantFrom(...'"\\<>&;#[]{}|-=,\n\r\0 nNGL', "&amp;", "é", "日", "\ud800"),
    maxLength: 12,
  }),
  fc.constantFrom("graph", "node", "digraph", "__proto__", "\\", '\\"', "<b>x</b>"),
);

/** Characters that cannot be written are replaced. */
const written = (text: string): string => text.replace(/(?!\n)[\p{Cc}\p{Cs}\u2028\u2029]/gu, "\ufffd");

property.prop([fc.uniqueArray(name, { minLength: 1, maxLength: 5, selector: written }), name, name])(
  "any names and labels can be read back from DOT",
  (names, title, label) => {
    const last = names.at(-1) as string;
    const graph: Graph = {
      name: title,
      direction: "TB",
      nodes: names.map((one) => ({ name: one, label: `${one}\n1 task`, shape: "oval", colour: undefined })),
      edges: names.map((from) => ({ from, to: last, label: `x${label}`, colour: "red", style: "bold" })),
    };
    const { nodes, edges } = parse(writeDot(graph));
    expect([...nodes.keys()]).toEqual(names.map(written));
    expect([...nodes.values()].map((node) => node.label)).toEqual(
      names.map((one) => `${written(one)}\n1 task`),
    );
    expect(edges.map(({ from }) => from)).toEqual(names.map(written));
    for (const { to, attributes } of edges) {
      expect(to).toBe(written(last));
      expect(attributes.label).toBe(`x${written(label)}`);
    }
  },
);
