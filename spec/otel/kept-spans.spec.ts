// The spans that are kept for the observer, beside a tracer of the user: they have its ids, and change nothing of what it gets.

import { trace as api } from "@opentelemetry/api";
import { ConsumerGroup, consumer, defineServer, System, supervisor } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { instrument } from "signalbox/otel";
import { memory } from "signalbox/store";
import { afterEach, expect, test } from "vitest";
import { spansOf } from "../../lib/service/telemetry/telemetry.js";
import { exporter, freshSpans, inSpan, mark, tracer } from "./support.js";

freshSpans();

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Takes an order in a service that is traced. Gives the tree of all spans that its tracer got. */
async function ordered(order: readonly ("trace" | "keep")[], using = tracer) {
  const system = new System({ name: "shop", report: false, context: "sender" });
  ends.push(() => system.stop({ timeoutMs: 0 }));
  const keeper = await spansOf(system.kernel);
  for (const what of order)
    if (what === "keep") ends.push(keeper.hold());
    else {
      const traced = instrument(system, { tracer: using, meter: false });
      ends.push(() => traced.close());
    }
  const pickers = new ConsumerGroup<string>({ name: "pickers", patienceMs: 10_000 });
  const pick = consumer(() => mark("picked"), { group: pickers });
  await system.start(supervisor({ children: [{ id: "picker", start: pick }] }));
  const Till = defineServer({ label: "till", init: () => 0, calls: { pay: () => mark("paid") } });
  const till = await system.start(Till);
  const book = defineFlow("book", async (flow) => {
    await flow.step("charge", () => till.call.pay());
  });
  const host = await system.start(flowHost({ store: memory(), flows: [book] }));
  const Front = defineServer({
    label: "front",
    init: () => undefined,
    calls: {
      order: async () => {
        await inSpan("own", () => system.dispatch(pickers, "book"));
        await (await host.start(book, undefined, { id: "o-1" })).result();
      },
    },
  });
  const front = await system.start(Front);
  exporter.reset();
  await inSpan("request", () => front.call.order());
  await system.idle();
  return { system, keeper };
}

/** The spans of the tracer, each with the name of its parent. */
function exported(): readonly string[] {
  const spans = exporter.getFinishedSpans();
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
  // The order of the ends is that of a store.
  return spans
    .map((span) => `${span.name} < ${names.get(span.parentSpanContext?.spanId ?? "") ?? "none"}`)
    .sort();
}

test.each([[["keep", "trace"]], [["trace", "keep"]]] as const)(
  "they have the ids of the user's tracer, which gets what it gets without them: %s [N1547]",
  async (order) => {
    await ordered(["trace"]);
    const alone = exported();
    expect(alone).toContain("paid < till/pay");
    const { keeper } = await ordered(order);
    expect(exported()).toEqual(alone);
    const spans = exporter.getFinishedSpans();
    const request = spans.find(({ name }) => name === "request")?.spanContext();
    const kept = keeper.spans(request?.traceId ?? "").spans;
    const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
    expect(kept.length).toBeGreaterThan(8);
    for (const { id, parent, depth } of kept) {
      const span = byId.get(id);
      expect(span?.spanContext().traceId).toBe(request?.traceId);
      // Where a span of the user's own stands in between, the parent is the nearest span that is kept.
      if (depth > 0 && span?.parentSpanContext?.spanId !== parent)
        expect(byId.get(span?.parentSpanContext?.spanId ?? "")?.name).toBe("own");
    }
    // The span of the user above all that is kept is named, too.
    expect(kept[0]).toMatchObject({ name: "front/order", parent: request?.spanId });
    // All that the tracer has of this system is kept, except for the user's own spans.
    const own = ["own", "request", "paid", "picked"];
    expect(kept).toHaveLength(spans.filter(({ name }) => !own.includes(name)).length);
  },
);

test("they have ids of their own beside a tracer without an exporter [N1547]", async () => {
  const { keeper } = await ordered(["trace", "keep"], api.getTracer("none"));
  const [found] = keeper.traces({ limit: 1, find: "front/order" });
  expect(found).toMatchObject({ trace: expect.stringMatching(/^[\da-f]{32}$/) });
  const { spans } = keeper.spans(found?.trace ?? "");
  expect(spans.map(({ name }) => name)).toContain("step charge");
  expect(spans.filter(({ depth }) => depth === 0)).toHaveLength(1);
});
