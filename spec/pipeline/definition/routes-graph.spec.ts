import { describe, expect, it } from "vitest";
import { definePipeline, feed } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import {
  pipelineToDot,
  pipelineToMermaid,
  routesGraph,
} from "../../../lib/pipeline/definition/routes-graph.js";

interface Order {
  readonly country: string;
}
const orders = queue<Order>("orders");
const abroad = queue<Order>("abroad");
const totals = queue<Order>("totals");
const isLarge = (order: Order): boolean => order.country.length > 2;

const shop = definePipeline("shop", {
  routes: [
    route("read", { from: orders, firstMatch: true })
      .via("parse", (order) => order, {
        when: [
          { field: "country", operator: "exists" },
          { field: "", operator: "ne", value: 1 },
        ],
      })
      .to(abroad, { when: { field: "country", operator: "ne", value: "DE" } })
      .to(queue<Order>("large"), { when: isLarge })
      .to(totals),
    route("abroad", { from: abroad })
      .batch("sum", { size: 100 }, (all) => all)
      .to(totals, { when: () => true }),
    route("large", { from: queue<Order>("large") }),
    route("total", { from: totals }).via("write", () => undefined),
  ],
  sources: [feed({ name: "inbox", open: () => [] }, orders)],
});

describe("the graph of a pipeline", () => {
  it("has sources, queues, routes with adapters, conditions and dead letters [Y81]", () => {
    const { nodes, edges } = routesGraph(shop);
    expect(nodes.map(({ name, shape }) => `${name} (${shape})`)).toEqual([
      "source inbox (oval)",
      "queue orders (cylinder)",
      "queue abroad (cylinder)",
      "queue large (cylinder)",
      "queue totals (cylinder)",
      "route read (box)",
      "route abroad (box)",
      "route large (box)",
      "route total (box)",
      "dead dead letters (parallelogram)",
    ]);
    expect(nodes.filter(({ shape }) => shape === "box").map(({ label }) => label)).toEqual([
      "read\n1. parse, if country exists and the value ≠ 1",
      "abroad\n1. sum (batches of 100)",
      "large",
      "total\n1. write",
    ]);
    expect(edges.map(({ from, to, label, style }) => `${from} -> ${to} [${label}] ${style}`)).toEqual([
      "source inbox -> queue orders [] solid",
      "queue orders -> route read [] solid",
      'route read -> queue abroad [1. country ≠ "DE"] dashed',
      "route read -> queue large [2. isLarge] dashed",
      "route read -> queue totals [else] solid",
      "queue abroad -> route abroad [] solid",
      "route abroad -> queue totals [a function] dashed",
      "queue large -> route large [] solid",
      "queue totals -> route total [] solid",
      "route read -> dead dead letters [failed] dotted",
      "route abroad -> dead dead letters [failed] dotted",
      "route total -> dead dead letters [failed] dotted",
    ]);
    for (const { from, to } of edges)
      expect(nodes.map(({ name }) => name)).toEqual(expect.arrayContaining([from, to]));
  });

  it("leaves dead letters out when it is asked to", () => {
    const { nodes, edges } = routesGraph(shop, { deadLetters: false });
    expect([...nodes.map(({ name }) => name), ...edges.map(({ to }) => to)]).not.toContain(
      "dead dead letters",
    );
  });

  it("is written as Mermaid and DOT, the same text each time [Y81]", () => {
    const mermaid = pipelineToMermaid(shop, { direction: "TB" });
    expect(mermaid).toContain('flowchart TB\n  n1(["inbox"])\n  n2[("orders")]');
    expect(mermaid).toContain('n6 -.->|"1#46; country ≠ #34;DE#34;"| n3');
    expect(pipelineToMermaid(shop, { direction: "TB" })).toBe(mermaid);
    const dot = pipelineToDot(shop);
    expect(dot).toMatch(/^digraph "shop" \{\n {2}rankdir=LR;/);
    expect(dot).toContain('"route read" -> "queue abroad" [label="1. country ≠ \\"DE\\""');
    expect(pipelineToDot(shop)).toBe(dot);
  });

  it.each([
    [{ direction: "UP" }, /^direction must be one of/],
    [{ deadLetters: 1 }, /^deadLetters must be true or false/],
    [{ deadLeters: true }, /did you mean deadLetters/],
  ])("refuses %j", (options, message) => {
    expect(() => pipelineToDot(shop, options as never)).toThrow(message);
  });
});
