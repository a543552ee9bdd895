// The way of a message: spans in the order of cause and time, whatever order and holes the records have.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import type { SpanRecord } from "../../../lib/admin/traces/trace-operations.js";
import { queryOf, wayOf, wayText } from "../../../lib/observer/client/model/message-way.js";

const span = (id: string, at: number, more: Partial<SpanRecord> = {}): SpanRecord => ({
  id,
  name: id,
  kind: "call",
  at,
  tookMs: 10,
  status: "ok",
  node: "shop",
  attributes: {},
  ...more,
});
const shown = (spans: readonly SpanRecord[]): string[] =>
  wayOf(spans, 1_000).rows.map(({ span: { id }, depth }) => `${"-".repeat(depth)}${id}`);

test("a span stands below the one that it follows, brothers in the order of time [N1587]", () => {
  const spans = [
    span("second", 30, { parent: "root" }),
    span("first", 20, { parent: "root" }),
    span("deep", 25, { parent: "first" }),
    span("root", 10),
  ];
  expect(shown(spans)).toEqual(["root", "-first", "--deep", "-second"]);
});

test("a hop to another node, a re-route and a missing parent are marked [N1587]", () => {
  const { rows, nodes } = wayOf(
    [
      span("dispatch", 0, { kind: "dispatch" }),
      span("try1", 1, { parent: "dispatch", kind: "attempt", status: "error" }),
      span("try2", 5, { parent: "dispatch", kind: "attempt" }),
      span("there", 6, { parent: "try2", node: "bank" }),
      span("lost", 7, { parent: "gone" }),
    ],
    100,
  );
  const by = new Map(rows.map((row) => [row.span.id, row]));
  expect(by.get("try1")?.rerouted).toBe(false);
  expect(by.get("try2")?.rerouted).toBe(true);
  expect(by.get("there")?.hopFrom).toBe("shop");
  expect(by.get("lost")?.orphan).toBe(true);
  expect(nodes).toEqual(["shop", "bank"]);
});

test("an open span reaches the end of the scale, and does not push the others together", () => {
  const { tookMs: _, ...begun } = span("b", 40, { status: "open" });
  const spans = [span("a", 0, { tookMs: 80 }), begun];
  expect([90, 5_000].map((now) => wayOf(spans, now)).map(({ to, open }) => [to, open])).toEqual([
    [90, 1],
    [100, 1],
  ]);
  expect(wayOf(spans, 5_000).rows[1]?.bar).toEqual({ left: 0.4, width: 0.6 });
});

const anySpans = fc
  .array(fc.record({ at: fc.nat(1_000), parent: fc.option(fc.nat(20), { nil: undefined }) }), {
    maxLength: 20,
  })
  .map((all) =>
    all.map(({ at, parent }, i) => span(`${i}`, at, parent === undefined ? {} : { parent: `${parent}` })),
  );

check.prop([anySpans])("every span has one row, also in circles and without its parent [N1587]", (spans) => {
  const { rows } = wayOf(spans, 2_000);
  expect(rows.map((row) => row.span.id).sort()).toEqual(spans.map(({ id }) => id).sort());
  for (const { bar } of rows) expect(bar.left >= 0 && bar.left + bar.width <= 1 + 1e-9).toBe(true);
});

describe("what a text looks for", () => {
  const trace = "0af7651916cd43dd8448eb211c80319c";
  test.each([
    [trace, { by: "trace", trace }],
    [` ${trace.toUpperCase()} `, { by: "trace", trace }],
    [`00-${trace}-b7ad6b7169203331-01`, { by: "trace", trace }],
    ["orders-7/10.13.11", { by: "pipeline", execution: "orders-7", message: "10.13.11" }],
    ["order-4711", { by: "text", text: "order-4711" }],
    ["  ", undefined],
  ])("%j", (text, query) => {
    expect(queryOf(text)).toEqual(query);
  });
});

test("the hops between nodes are counted, in the order in which the message made them [N1609]", () => {
  const { hops } = wayOf(
    [
      span("order", 0),
      span("pay", 1, { parent: "order", node: "bank" }),
      span("check", 2, { parent: "pay", node: "bank" }),
      span("note", 3, { parent: "check", node: "shop" }),
      span("again", 4, { parent: "order", node: "bank" }),
      span("lost", 5, { parent: "gone", node: "mill" }),
    ],
    100,
  );
  expect(hops).toEqual([
    { from: "shop", to: "bank", count: 2 },
    { from: "bank", to: "shop", count: 1 },
  ]);
});

test("the way as text has a line for each span, whatever its labels are [N1609]", () => {
  const hostile = "=1+1\t<img src=x onerror=alert(1)>\n\u202e";
  const { rows } = wayOf(
    [span(hostile, 0, { node: hostile, pid: hostile, status: "error", error: hostile })],
    1,
  );
  const [head = "", line = "", ...rest] = wayText(rows).split("\n");
  expect(rest).toEqual([""]);
  const cells = line.split("\t");
  expect(cells).toHaveLength(head.split("\t").length);
  expect(cells.filter((cell) => cell.startsWith("="))).toEqual([]);
});

test("a way may be ten thousand spans deep [N1587]", () => {
  const spans = Array.from({ length: 10_000 }, (_, i) =>
    span(`${i}`, i, i === 0 ? {} : { parent: `${i - 1}` }),
  );
  const { rows } = wayOf(spans.reverse(), 1);
  expect(rows.map(({ depth }) => depth)).toEqual(spans.map((_, i) => i));
});
