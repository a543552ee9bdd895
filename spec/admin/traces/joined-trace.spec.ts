// The parts of a trace that several nodes keep, as one tree: whatever the order of the answers is, and whatever is in them.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  JOINED_SPANS,
  joinedSpans,
  joinedTraces,
  type MissingPart,
  type TracePart,
} from "../../../lib/admin/traces/joined-trace.js";
import type { NodeTrace, SpanRecord } from "../../../lib/admin/traces/trace-operations.js";

const node = (name: string, id = `id-${name}`) => ({ name, id });
const SHOP = node("shop");

const span = (
  id: string,
  parent: string | undefined,
  at: number,
  more: Partial<SpanRecord> = {},
): SpanRecord => ({
  ...{ id, parent, at, name: id, kind: "call", status: "ok", tookMs: 1, node: "?", attributes: {} },
  ...more,
});
const part = (of: { name: string; id: string }, ...spans: SpanRecord[]): TracePart => ({
  ...{ node: of, spans, dropped: 0 },
});

describe("the spans of several nodes", () => {
  test("are one tree, each below the one of another node that it follows from [N1600]", () => {
    const { spans, node: here } = joinedSpans(
      "t",
      SHOP,
      [
        part(SHOP, span("order", undefined, 0), span("pay", "order", 10), span("pack", "order", 40)),
        part(node("bank"), span("handle", "pay", 12), span("check", "handle", 14)),
        part(node("log"), span("note", "check", 15)),
      ],
      [],
    );
    expect(spans.map(({ depth, id, node: on }) => `${"-".repeat(depth)}${id} ${on}`)).toEqual([
      ...["order shop", "-pay shop", "--handle bank", "---check bank", "----note log", "-pack shop"],
    ]);
    expect(here).toBe("shop");
  });

  test("that several of them know are there once, as the one that knows their end has them [N1601]", () => {
    const parts = [
      part(SHOP, span("a", undefined, 0, { status: "open", tookMs: undefined })),
      part(node("bank"), span("a", undefined, 0, { status: "error", tookMs: 7, error: "no" })),
      part(node("log"), span("a", undefined, 0, { tookMs: 9 })),
    ];
    const { spans } = joinedSpans("t", SHOP, parts, []);
    expect(spans).toMatchObject([{ id: "a", node: "bank", tookMs: 7, error: "no" }]);
  });

  test("of nodes with the same name are told apart by the ids of their nodes [N1600]", () => {
    const [one, other] = [node("shop", "1"), node("shop", "2")];
    const parts = [
      part(one, span("a", undefined, 0)),
      part(other, span("b", "a", 1)),
      part(node("log"), span("c", "b", 2)),
    ];
    const found = joinedSpans("t", one, parts, [{ node: node("shop", "3"), why: "gone" }]);
    expect(found.spans.map((each) => each.node)).toEqual(["shop (1)", "shop (2)", "log"]);
    expect([found.node, found.missing]).toEqual(["shop (1)", [{ node: "shop (3)", why: "gone" }]]);
  });

  test("are bounded, and those beyond count as dropped [N1603]", () => {
    const many = (of: string): SpanRecord[] =>
      Array.from({ length: JOINED_SPANS }, (_, i) => span(`${of}${i}`, undefined, i));
    const { spans, dropped } = joinedSpans(
      "t",
      SHOP,
      [{ ...part(SHOP, ...many("a")), dropped: 3 }, part(node("bank"), ...many("b"))],
      [],
    );
    expect([spans.length, dropped]).toEqual([JOINED_SPANS, JOINED_SPANS + 3]);
    expect(Math.max(...spans.map(({ at }) => at))).toBe(JOINED_SPANS / 2 - 1);
  });

  test("are the same tree for any order of the answers, and have each span and each missing node once [N1601]", () => {
    const names = fc.constantFrom("shop", "bank", "__proto__", "<img onerror=x>");
    const nodes = fc.uniqueArray(fc.record({ name: names, id: fc.constantFrom(..."12345") }), {
      selector: ({ id }) => id,
      minLength: 1,
    });
    const spans = fc.array(
      fc.record({
        id: fc.constantFrom(..."abcdefgh", "__proto__", "constructor"),
        parent: fc.option(fc.constantFrom(..."abcdefgh", "__proto__", "gone"), { nil: undefined }),
        at: fc.nat(5),
        isOpen: fc.boolean(),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(
        nodes,
        fc.array(spans, { minLength: 5, maxLength: 5 }),
        fc.array(fc.record({ of: fc.nat(4), why: fc.constantFrom("gone", "silent") })),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (all, given, absent, random) => {
          const parts = all.map((of, i): TracePart => {
            const own = (given[i] ?? []).map(({ id, parent, at, isOpen }) =>
              span(id, parent, at, isOpen ? { status: "open", tookMs: undefined } : {}),
            );
            return part(of, ...own);
          });
          const missing = absent.flatMap(({ of, why }): MissingPart[] => {
            const lost = all[of];
            return lost === undefined ? [] : [{ node: lost, why }];
          });
          const shuffled = <T>(list: readonly T[]): T[] =>
            list
              .map((one) => ({ one, key: random.next().value as number }))
              .sort((a, b) => a.key - b.key)
              .map(({ one }) => one);
          const [here] = all as [TracePart["node"]];
          const joined = joinedSpans("t", here, parts, missing);
          expect(joinedSpans("t", here, shuffled(parts), shuffled(missing))).toEqual(joined);
          // The model: the union of all ids, each ended if any node knows its end, and below its parent if that is there.
          const flat = parts.flatMap((each) => each.spans);
          const ids = new Set(flat.map(({ id }) => id));
          expect(joined.spans.map(({ id }) => id).sort()).toEqual([...ids].sort());
          for (const line of joined.spans)
            expect(line.status === "open").toBe(
              flat.every(({ id, status }) => id !== line.id || status === "open"),
            );
          const above: string[] = [];
          for (const { id, parent, depth } of joined.spans) {
            if (depth > 0) expect(above[depth - 1]).toBe(parent);
            above[depth] = id;
          }
          expect(joined.missing.length).toBe(new Set(missing.map((one) => one.node.id)).size);
          expect(new Set(joined.missing.map((one) => one.node)).size).toBe(joined.missing.length);
        },
      ),
    );
  });
});

describe("the traces of several nodes", () => {
  const trace = (id: string, more: Partial<NodeTrace> = {}): NodeTrace => ({
    ...{ trace: id, name: id, isBegin: false, at: 0, tookMs: 1, spans: 1, status: "ok" },
    ...more,
  });

  test("are one list, and a trace has its name from the node where it began, whatever the clocks say [N1606]", () => {
    const parts = [
      { node: SHOP, traces: [trace("t", { name: "order", isBegin: true, at: 10, tookMs: 20, spans: 4 })] },
      {
        node: node("bank"),
        traces: [trace("t", { name: "pay", at: 8, tookMs: 3, spans: 2 }), trace("u", { at: 50 })],
      },
      {
        node: node("log"),
        traces: [trace("t", { name: "note", at: 31, tookMs: 9, spans: 1, status: "error" })],
      },
    ];
    const joined = joinedTraces(parts, 10);
    expect(joined).toEqual([
      { ...trace("u", { at: 50 }), nodes: ["bank"] },
      {
        ...{ trace: "t", name: "order", isBegin: true, at: 8, tookMs: 32, spans: 7, status: "error" },
        nodes: ["bank", "log", "shop"],
      },
    ]);
    expect(joinedTraces([...parts].reverse(), 10)).toEqual(joined);
    expect(joinedTraces(parts, 1)).toHaveLength(1);
  });

  test("are open while a span of any node is [N1606]", () => {
    const open = trace("t", { tookMs: undefined, status: "open" });
    const parts = [
      { node: SHOP, traces: [trace("t")] },
      { node: node("bank"), traces: [open] },
    ];
    expect(joinedTraces(parts, 10)).toMatchObject([{ tookMs: undefined, status: "open", spans: 2 }]);
  });
});
