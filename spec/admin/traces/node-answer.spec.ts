// What a node answers when another one asks for its spans, and what is read of an answer of any form.

import { System } from "signalbox";
import { expect, onTestFinished, test } from "vitest";
import {
  ANSWER_LIMITS,
  type AnsweredSpans,
  KEEPS_NONE,
  nodeAnswer,
  spansIn,
  tracesIn,
} from "../../../lib/admin/traces/node-answer.js";
import { RING_LIMITS } from "../../../lib/admin/traces/span-limits.js";
import { SpanRing } from "../../../lib/admin/traces/span-ring.js";
import { offerSpans } from "../../../lib/admin/traces/span-source.js";

/** A system whose spans are those of a ring. */
function keeping(ring: SpanRing | undefined): { readonly system: System; readonly looks: () => number } {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  let looks = 0;
  if (ring !== undefined)
    offerSpans(system.kernel, async () => ({
      touch: () => void looks++,
      spans: (trace) => ring.spans(trace, "shop"),
      traces: (filter) => ring.traces(filter),
    }));
  return { system, looks: () => looks };
}

const sent = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("a node answers with its spans, which it keeps for a while from then on [N1602]", async () => {
  const ring = new SpanRing();
  const span = ring.begin({ trace: "t", id: "1", name: "pay", kind: "call", at: 5, attributes: { n: 3 } });
  ring.begin({
    trace: "t",
    id: "2",
    parent: "1",
    name: "note",
    kind: "cast",
    at: 6,
    pid: "shop.7",
    attributes: {},
  });
  ring.end(span, { tookMs: 9, error: "no" });
  const { system, looks } = keeping(ring);
  const answer = await nodeAnswer(system.kernel, { type: "spans", trace: "t" });
  // It is plain JSON, which goes to the other node as it is.
  expect(sent(answer)).toEqual(answer);
  expect(looks()).toBe(1);
  expect(spansIn(answer, "other")).toMatchObject({
    spans: [
      {
        id: "1",
        name: "pay",
        kind: "call",
        at: 5,
        tookMs: 9,
        status: "error",
        error: "no",
        attributes: { n: 3 },
      },
      { id: "2", parent: "1", pid: "shop.7", status: "open", node: "other" },
    ],
    ...{ dropped: 0, leftOut: 0 },
  });
  const list = await nodeAnswer(system.kernel, { type: "traces", limit: 9_999, find: "pay" });
  expect(looks()).toBe(2);
  expect(tracesIn(list)).toMatchObject([
    { trace: "t", name: "pay", isBegin: true, spans: 2, status: "error" },
  ]);
});

test("a node without an observer and telemetry says so, and starts to keep nothing [N1602]", async () => {
  const { system } = keeping(undefined);
  for (const question of [
    { type: "spans", trace: "t" },
    { type: "traces", limit: 5 },
  ])
    expect(await nodeAnswer(system.kernel, question)).toEqual({ kept: false });
  expect(system.kernel.taps).toBeUndefined();
  expect(spansIn({ kept: false }, "x")).toBe(KEEPS_NONE);
});

test("a question of another form has no answer [N1602]", async () => {
  const { system, looks } = keeping(new SpanRing());
  for (const question of [
    ...[undefined, null, 5, "spans", [], {}, { type: "spans" }, { type: "spans", trace: 5 }],
    ...[{ type: "traces" }, { type: "traces", limit: -1 }, { type: "traces", limit: 1, find: {} }],
    { type: "forget", trace: "t" },
  ])
    expect(await nodeAnswer(system.kernel, question)).toBeUndefined();
  expect(looks()).toBe(0);
});

test("an answer has so many spans and characters at most, those above first, and says how many it left out [N1603]", async () => {
  const ring = new SpanRing();
  const { system } = keeping(ring);
  for (let i = 0; i < ANSWER_LIMITS.spans + 10; i++)
    ring.begin({ trace: "short", id: `s${i}`, name: `n${i}`, kind: "call", at: i, attributes: {} });
  const short = spansIn(
    await nodeAnswer(system.kernel, { type: "spans", trace: "short" }),
    "x",
  ) as AnsweredSpans;
  expect([short.spans.length, short.leftOut]).toEqual([ANSWER_LIMITS.spans, 10]);
  const text = "x".repeat(RING_LIMITS.text);
  const attributes = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`${i}`, text]));
  for (let i = 0; i < 1_000; i++)
    ring.begin({
      trace: "wide",
      id: `w${i}`,
      parent: `w${i - 1}`,
      name: text,
      kind: "call",
      at: 0,
      attributes,
    });
  const answer = await nodeAnswer(system.kernel, { type: "spans", trace: "wide" });
  expect(JSON.stringify(answer).length).toBeLessThan(1.1 * ANSWER_LIMITS.size);
  const wide = spansIn(answer, "x") as AnsweredSpans;
  expect(wide.spans.length + wide.leftOut).toBe(1_000);
  expect(wide.spans.map(({ id }) => id)).toEqual(wide.spans.map((_, i) => `w${i}`));
});

test("what is no answer is not understood, and a span of another form is left out [N1605]", () => {
  const good = { id: "1", name: "a", kind: "call", at: 0, status: "ok", attributes: {} };
  for (const wrong of [
    ...[undefined, null, 5, "", [], {}, { kept: 1 }, { kept: true }, { kept: true, spans: {} }],
    ...[
      { kept: true, spans: [], dropped: -1, leftOut: 0 },
      { kept: true, spans: [], dropped: 0, leftOut: "1" },
    ],
  ])
    expect(spansIn(wrong, "x")).toBeUndefined();
  expect(tracesIn({ kept: false })).toBeUndefined();
  const wrong = [null, 5, {}, { ...good, id: "" }, { ...good, id: "x".repeat(1_000) }, { ...good, at: "0" }];
  const found = spansIn({ kept: true, spans: [good, ...wrong], dropped: 0, leftOut: 2 }, "x");
  expect(found).toMatchObject({ spans: [{ id: "1" }], leftOut: 2 + wrong.length });
  const traces = [{ trace: "t", name: "a", at: 0, spans: 1, status: "ok" }, { trace: "t" }, 5];
  expect(tracesIn({ kept: true, traces })).toHaveLength(1);
});

test("labels of another node are cut, and what it names itself does not count [N1605]", () => {
  const long = "<img src=x onerror=alert(1)>\u202e\n".repeat(50);
  const attributes = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`${i}${long}`, i % 2 ? long : { a: 1 }]),
  );
  const hostile = JSON.parse(
    `{"id":"1","name":${JSON.stringify(long)},"kind":"constructor","at":0,"status":"ok","node":"shop","__proto__":{"x":1}}`,
  );
  const answer = {
    kept: true,
    spans: [{ ...hostile, pid: long, error: long, attributes }],
    dropped: 0,
    leftOut: 0,
  };
  const [span] = (spansIn(answer, "bank") as AnsweredSpans).spans;
  expect(span).toMatchObject({ node: "bank", kind: "other" });
  for (const text of [span?.name, span?.pid, span?.error, ...Object.entries(span?.attributes ?? {}).flat()])
    expect(String(text).length).toBeLessThanOrEqual(RING_LIMITS.text + 1);
  expect(Object.keys(span?.attributes ?? {}).length).toBeLessThanOrEqual(RING_LIMITS.attributes);
  expect(Object.values(span?.attributes ?? {}).every((one) => typeof one === "string")).toBe(true);
});
