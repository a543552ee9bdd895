// The ring of spans: bounded in every way, and right about what it keeps. The tree of a trace: every span once.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RingLimits } from "../../lib/admin/traces/span-limits.js";
import { type BegunSpan, type KeptSpan, SpanRing } from "../../lib/admin/traces/span-ring.js";
import { treeLines } from "../../lib/admin/traces/span-tree.js";
import type { SpanRecord } from "../../lib/admin/traces/trace-operations.js";

const LIMITS: RingLimits = { spans: 20, alike: 4, attributes: 3, text: 8 };
const ALL = { limit: 500 };

const begun = (trace: string, id: string, more: Partial<BegunSpan> = {}): BegunSpan => ({
  ...{ trace, id, name: `n${id}`, kind: "call", at: 0, attributes: {} },
  ...more,
});

describe("the ring", () => {
  test("keeps the latest spans, and says of a trace how many it dropped [N1543]", () => {
    const ring = new SpanRing(LIMITS);
    for (let i = 0; i < 50; i++) ring.begin(begun(i < 45 ? "long" : "late", String(i), { at: i }));
    expect(ring.size).toBe(20);
    expect(ring.spans("long", "shop").dropped).toBe(30);
    expect(ring.spans("long", "shop").spans.map(({ id }) => id)).toEqual(
      Array.from({ length: 15 }, (_, i) => String(30 + i)),
    );
    expect(ring.traces(ALL).map(({ trace }) => trace)).toEqual(["late", "long"]);
    for (let i = 50; i < 70; i++) ring.begin(begun("late", String(i)));
    expect(ring.spans("long", "shop")).toEqual({ trace: "long", spans: [], dropped: 0 });
  });

  test("counts no span as open that has left it [N1543]", () => {
    const ring = new SpanRing(LIMITS);
    const lost = ring.begin(begun("t", "lost"));
    for (let i = 0; i < LIMITS.spans; i++) ring.end(ring.begin(begun("t", `${i}`)), { tookMs: 1 });
    expect(ring.traces(ALL)).toMatchObject([{ trace: "t", spans: LIMITS.spans, status: "ok", tookMs: 1 }]);
    // Its end changes nothing any more.
    ring.end(lost, { tookMs: 99, error: "late" });
    expect(ring.traces(ALL)).toMatchObject([{ status: "ok", tookMs: 1 }]);
  });

  test("folds spans of one parent that look alike, with their number, time and failure [N1543]", () => {
    const ring = new SpanRing(LIMITS);
    const root = ring.begin(begun("t", "root"));
    const casts = Array.from({ length: 9 }, (_, i) =>
      ring.begin(begun("t", `c${i}`, { parent: "root", name: "cast", at: 10 * i, attributes: { i } })),
    );
    for (const [i, cast] of casts.entries())
      ring.end(cast, { tookMs: 5, error: i === 7 ? "timeout" : undefined });
    ring.end(root, { tookMs: 100 });
    const { spans } = ring.spans("t", "shop");
    expect(spans.map(({ id }) => id)).toEqual(["root", "c0", "c1", "c2", "c3", "c4"]);
    expect(spans[5]).toMatchObject({
      ...{ attributes: { i: 8, folded: 5 }, at: 40, tookMs: 45, status: "error", error: "timeout" },
    });
    expect(ring.traces(ALL)).toEqual([
      { trace: "t", name: "nroot", isBegin: true, at: 0, tookMs: 100, spans: 6, status: "error" },
    ]);
  });

  test("cuts texts, and keeps only so many attributes [N1543]", () => {
    const ring = new SpanRing(LIMITS);
    const long = "x".repeat(1_000);
    const span = ring.begin(
      begun("t", "1", {
        name: long,
        pid: long,
        attributes: { [long]: long, b: undefined, c: 1, d: true, e: 2 },
      }),
    );
    ring.end(span, { tookMs: 1, error: long, attributes: { f: 3, c: 4 } });
    const record = ring.spans("t", "shop").spans[0] as SpanRecord;
    const cut = `${"x".repeat(LIMITS.text)}…`;
    expect(record).toMatchObject({ name: cut, pid: cut, error: cut, status: "error" });
    expect(record.attributes).toEqual({ [cut]: cut, c: 4, d: true });
  });

  test("finds traces by their id and by the texts of their spans [N1544]", () => {
    const ring = new SpanRing(LIMITS);
    ring.begin(begun("aa", "1", { name: "till" }));
    ring.begin(begun("bb", "2", { attributes: { id: "o-17" } }));
    const found = (find: string): readonly string[] =>
      ring.traces({ ...ALL, find }).map(({ trace }) => trace);
    expect([found("aa"), found("till"), found("o-1"), found("zz")]).toEqual([["aa"], ["aa"], ["bb"], []]);
    expect(ring.traces({ limit: 1 })).toHaveLength(1);
  });

  test("counts right for any begins and ends, also of spans that have left it [N1543]", () => {
    const step = fc.oneof(
      fc.record({ trace: fc.nat(3), parent: fc.nat(9), name: fc.nat(2) }),
      fc.record({ end: fc.nat(60), fails: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const ring = new SpanRing(LIMITS);
        const made: KeptSpan[] = [];
        let at = 0;
        for (const one of steps) {
          at++;
          if ("end" in one) {
            const span = made[one.end];
            if (span !== undefined) ring.end(span, { tookMs: 1, error: one.fails ? "no" : undefined });
            continue;
          }
          const { trace, parent, name } = one;
          made.push(
            ring.begin(begun(`t${trace}`, `${made.length}`, { parent: `${parent}`, name: `${name}`, at })),
          );
        }
        const traces = ring.traces(ALL);
        expect(ring.size).toBeLessThanOrEqual(LIMITS.spans);
        expect(traces.reduce((sum, { spans }) => sum + spans, 0)).toBe(ring.size);
        for (const { trace, spans: count, status, tookMs } of traces) {
          const { spans } = ring.spans(trace, "shop");
          expect(spans).toHaveLength(count);
          expect(count).toBeGreaterThan(0);
          const isOpen = spans.some((span) => span.tookMs === undefined);
          expect(tookMs === undefined).toBe(isOpen);
          if (spans.some((span) => span.status === "error")) expect(status).toBe("error");
          // Of those that look alike, so many and one that stands for the others.
          const alike = new Map<string, number>();
          for (const { parent, name } of spans)
            alike.set(`${parent} ${name}`, (alike.get(`${parent} ${name}`) ?? 0) + 1);
          for (const number of alike.values()) expect(number).toBeLessThanOrEqual(LIMITS.alike + 1);
        }
        const stands = traces.flatMap(({ trace }) => ring.spans(trace, "shop").spans);
        const dropped = traces.reduce((sum, { trace }) => sum + ring.spans(trace, "shop").dropped, 0);
        const kept = stands.reduce((sum, { attributes }) => sum + ((attributes.folded as number) ?? 1), 0);
        // A trace that has left the ring altogether is forgotten, with its count.
        expect(kept + dropped).toBeLessThanOrEqual(made.length);
        if (made.length <= LIMITS.spans) expect(kept + dropped).toBe(made.length);
      }),
    );
  });
});

const record = (id: string, parent: string | undefined, at: number): SpanRecord => ({
  ...{ id, parent, at, name: id, kind: "call", status: "ok", node: "shop", attributes: {} },
});

describe("the tree of a trace", () => {
  test("has each span below its parent, in the order of their begins [N1545]", () => {
    const spans = [
      record("c", "a", 3),
      record("a", undefined, 1),
      record("b", "a", 2),
      record("d", "gone", 0),
    ];
    expect(treeLines(spans).map(({ id, depth }) => `${id}${depth}`)).toEqual(["d0", "a0", "b1", "c1"]);
  });

  test("has each span once, whatever parents they name, and a parent before its children [N1545]", () => {
    const some = fc.array(
      fc.record({ id: fc.nat(15), parent: fc.option(fc.nat(15), { nil: undefined }), at: fc.nat(5) }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(some, (all) => {
        const spans = all.map(({ id, parent, at }, i) => ({
          ...record(`${id}`, parent === undefined ? undefined : `${parent}`, at),
          name: `${i}`,
        }));
        const lines = treeLines(spans);
        expect(new Set(lines.map(({ name }) => name)).size).toBe(spans.length);
        expect(lines).toHaveLength(spans.length);
        const trail: SpanRecord[] = [];
        for (const { depth, ...span } of lines) {
          expect(depth).toBeLessThanOrEqual(trail.length);
          trail.length = depth;
          if (depth > 0) expect(span.parent).toBe(trail[depth - 1]?.id);
          trail.push(span);
        }
      }),
    );
  });

  test("may be ten thousand spans deep [N1545]", () => {
    const spans = Array.from({ length: 10_000 }, (_, i) =>
      record(`${i}`, i === 0 ? undefined : `${i - 1}`, i),
    );
    expect(treeLines(spans).at(-1)?.depth).toBe(9_999);
  });
});
