// OpenTelemetry with its real SDK: which spans there are, below which others, and what the metrics say.

import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { ConsumerGroup, consumer, defineServer, System, supervisor } from "signalbox";
import { instrument } from "signalbox/otel";
import { bulkhead, circuitBreaker, telemetry } from "signalbox/service";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { macrotask } from "../support/host.js";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer("test");

beforeEach(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  exporter.reset();
});
afterEach(() => context.disable());

/** The spans as a tree of names; links are shown by the names of the spans that they lead to. */
function tree(): string[] {
  const spans = exporter.getFinishedSpans();
  const idOf = (span: ReadableSpan): string => span.spanContext().spanId;
  const byId = new Map(spans.map((span) => [idOf(span), span]));
  const lines: string[] = [];
  const draw = (span: ReadableSpan, depth: number): void => {
    const links = span.links.map(({ context: to }) => byId.get(to.spanId)?.name ?? "?");
    const failed =
      span.status.code === SpanStatusCode.ERROR ? ` ! ${span.attributes["error.type"] ?? ""}` : "";
    const linked = links.length === 0 ? "" : ` -> ${links.join(", ")}`;
    lines.push(`${"  ".repeat(depth)}${span.name}${failed}${linked}`);
    const below = spans.filter((one) => one.parentSpanContext?.spanId === idOf(span));
    for (const one of below.sort((a, b) => order(a) - order(b))) draw(one, depth + 1);
  };
  const order = (span: ReadableSpan): number => span.startTime[0] * 1e9 + span.startTime[1];
  const roots = spans.filter(({ parentSpanContext: up }) => up === undefined || !byId.has(up.spanId));
  for (const root of roots.sort((a, b) => order(a) - order(b))) draw(root, 0);
  return lines;
}

const inSpan = <T>(name: string, run: () => Promise<T>): Promise<T> =>
  tracer.startActiveSpan(name, async (span) => {
    try {
      return await run();
    } finally {
      span.end();
    }
  });

describe("traces", () => {
  it("follow calls, casts and plain messages from sender to handler, across awaits [L13]", async () => {
    await using system = new System({ name: "shop", report: false, context: "sender" });
    instrument(system, { tracer, meter: false });
    const seen: (string | undefined)[] = [];
    const active = (): void =>
      void seen.push((trace.getActiveSpan() as unknown as ReadableSpan | undefined)?.name);
    const echo = system.spawn<string>({ handle: active }, { label: "echo" });
    const Shelf = defineServer({
      label: "shelf",
      init: () => ({ left: 9 }),
      calls: { look: (state) => state.left },
    });
    const shelf = await system.start(Shelf);
    const Stock = defineServer({
      label: "stock",
      init: (ctx) => ({ ctx }),
      calls: {
        take: async ({ ctx }) => {
          active();
          await macrotask();
          active();
          const left = await shelf.with({ from: ctx }).call.look();
          ctx.send(echo, "taken");
          return left;
        },
      },
      casts: { note: active },
    });
    const stock = await system.start(Stock);
    await system.idle();
    exporter.reset();
    await inSpan("request", async () => {
      stock.cast.note();
      await stock.call.take();
    });
    await system.idle();
    expect(tree()).toEqual([
      "request",
      "  stock/note",
      "    stock/note",
      "  stock/take",
      "    stock/take",
      "      shelf/look",
      "        shelf/look",
      "      process echo",
    ]);
    expect(seen).toEqual(["stock/note", "stock/take", "stock/take", "process echo"]);
    const spans = exporter.getFinishedSpans();
    const take = spans
      .filter(({ name }) => name === "stock/take")
      .map(({ kind, attributes }) => [kind, attributes]);
    // The SERVER span (1) is below the CLIENT span (2); which ends first is not said.
    expect(take.sort((a, b) => Number(b[0]) - Number(a[0]))).toMatchObject([
      [2, { "rpc.system": "signalbox", "rpc.service": "stock", "rpc.method": "take" }],
      [1, { "rpc.system": "signalbox", "rpc.service": "stock", "rpc.method": "take" }],
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it("follow a dispatch through a crash to another consumer, and the restart to the crash", async () => {
    await using system = new System({ name: "shop", report: false, context: "sender" });
    instrument(system, { tracer, meter: false });
    const pickers = new ConsumerGroup<string>({ name: "pickers", patienceMs: 1_000 });
    let crashes = 1;
    const work = async (order: string): Promise<string> => {
      await inSpan(`pick ${order}`, macrotask);
      if (crashes-- > 0) throw new Error("dropped");
      return order;
    };
    await system.start(
      supervisor({
        label: "floor",
        children: [{ id: "picker", start: consumer<string>(work, { group: pickers }) }],
      }),
    );
    await system.idle();
    expect(tree()).toEqual(["start floor", "  start picker"]);
    exporter.reset();
    await inSpan("request", () => system.dispatch(pickers, "book"));
    await system.idle();
    expect(tree()).toEqual([
      "request",
      "  dispatch pickers",
      "    attempt pickers ! crashed",
      "      process pickers ! crashed",
      "        pick book",
      "        crash picker ! crash",
      "    attempt pickers -> crash picker",
      "      process pickers",
      "        pick book",
      "restart picker -> crash picker",
      "start picker -> crash picker",
    ]);
    const crash = exporter.getFinishedSpans().find(({ name }) => name === "crash picker");
    expect(crash?.status.message).toBe("crash, Error: dropped");
    expect(crash?.attributes["signalbox.path"]).toBe("shop/floor/picker");
  });

  it("end every span on every way, and say why one failed", async () => {
    const open = new Set<string>();
    const counting = new BasicTracerProvider({
      spanProcessors: [
        {
          onStart: (span) => void open.add(span.spanContext().spanId),
          onEnd: (span) => void open.delete(span.spanContext().spanId),
          forceFlush: async () => undefined,
          shutdown: async () => undefined,
        },
        new SimpleSpanProcessor(exporter),
      ],
    });
    await using system = new System({ name: "shop", report: false });
    const instrumentation = instrument(system, { tracer: counting.getTracer("test"), meter: false });
    const Desk = defineServer({
      label: "desk",
      init: () => undefined,
      calls: {
        ponder: () => new Promise<never>(() => undefined),
        crash: () => {
          throw new Error("spilled");
        },
      },
    });
    const [slow, bad] = [await system.start(Desk), await system.start(Desk)];
    const group = new ConsumerGroup<string>({ name: "nobody" });
    await Promise.allSettled([
      slow.with({ timeoutMs: 1 }).call.ponder(),
      bad.call.crash(),
      system.dispatch(group, "lost"),
    ]);
    expect(
      tree()
        .filter((line) => line.includes("!"))
        .sort(),
    ).toEqual(
      [
        "  desk/crash ! crashed",
        "    crash desk ! crash",
        "desk/crash ! callee-exited",
        "desk/ponder ! timeout",
        "dispatch nobody ! no-consumer",
      ].sort(),
    );
    expect(open.size).toBe(1);
    instrumentation.close();
    expect(open.size).toBe(0);
    expect(system.kernel.taps).toBeUndefined();
  });

  it("are sampled as a stream of telemetry says", async () => {
    await using system = new System({ name: "shop", report: false });
    telemetry(system, { oneIn: { call: 2 } });
    instrument(system, { tracer, meter: false });
    const Desk = defineServer({ label: "desk", init: () => undefined, calls: { ask: () => 1 } });
    const desk = await system.start(Desk);
    for (let i = 0; i < 4; i++) await desk.call.ask();
    expect(tree().filter((line) => line.includes("ask"))).toEqual([
      ...["desk/ask", "  desk/ask", "desk/ask", "  desk/ask"],
    ]);
  });
});

describe("metrics", () => {
  it("count and time what happens, with labels instead of pids [L14]", async () => {
    const reader = new PeriodicExportingMetricReader({
      exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
      exportIntervalMillis: 1e9,
      exportTimeoutMillis: 1e8,
    });
    const meter = new MeterProvider({ readers: [reader] }).getMeter("test");
    await using system = new System({ name: "shop", report: false });
    instrument(system, { tracer: false, meter });
    const Desk = defineServer({
      label: "desk",
      init: () => undefined,
      calls: {
        ask: () => 1,
        crash: () => {
          throw new Error("spilled");
        },
      },
    });
    await system.start(supervisor({ label: "floor", children: [{ id: "desk", start: Desk, name: "desk" }] }));
    const desk = Desk.at(system, "desk");
    for (let i = 0; i < 3; i++) await desk.call.ask();
    await Promise.allSettled([desk.call.crash()]);
    const group = new ConsumerGroup<number>({ name: "pickers", patienceMs: 100 });
    system.spawn(
      consumer<number>((n) => n, { group }),
      { label: "picker" },
    );
    await system.dispatch(group, 1);
    const breaker = circuitBreaker({ label: "bank" }).local(system);
    await breaker(async () => 1)();
    const places = bulkhead({ label: "reports", concurrency: 1 }).local(system);
    const others = bulkhead({ label: "reports", concurrency: 1 }).local(system);
    void places(() => new Promise(() => undefined))();
    void others(() => new Promise(() => undefined))();
    const busy = system.spawn<number>({ handle: () => new Promise(() => undefined) }, { label: "busy" });
    for (let i = 0; i < 3; i++) system.send(busy, i);
    await system.idle();
    const { resourceMetrics } = await reader.collect();
    const told = new Map(
      resourceMetrics.scopeMetrics
        .flatMap(({ metrics }) => metrics)
        .map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ attributes, value }) => [
            Object.values(attributes).join(" "),
            typeof value === "number" ? value : (value as { count: number }).count,
          ]),
        ]),
    );
    await reader.shutdown();
    expect(told.get("signalbox.call.duration")).toEqual([
      ["desk ask replied", 3],
      ["desk crash callee-exited", 1],
    ]);
    expect(told.get("signalbox.message.duration")).toContainEqual(["desk call handled", 3]);
    expect(told.get("signalbox.mailbox.wait")).toContainEqual(["desk call", 4]);
    expect(told.get("signalbox.dispatch.duration")).toEqual([["pickers delivered", 1]]);
    expect(told.get("signalbox.dispatch.attempts")).toEqual([["pickers settled", 1]]);
    expect(told.get("signalbox.crashes")).toEqual([["desk crash", 1]]);
    expect(told.get("signalbox.restarts")).toEqual([["floor desk false", 1]]);
    expect(told.get("signalbox.mailbox.depth")).toContainEqual(["busy", 2]);
    expect(told.get("signalbox.processes")).toContainEqual(["desk", 1]);
    expect(told.get("signalbox.breaker.calls")).toEqual([["bank success", 1]]);
    expect(told.get("signalbox.breaker.call.duration")).toEqual([["bank", 1]]);
    expect(told.get("signalbox.breaker.state")).toContainEqual(["bank closed", 1]);
    expect(told.get("signalbox.bulkhead.running")).toEqual([["reports", 2]]);
    void [breaker, places, others];
    expect(JSON.stringify([...told])).not.toMatch(/<shop/);
  });
});

describe("instrument", () => {
  it("refuses options that are none, and a system that is instrumented already", async () => {
    await using system = new System({ report: false });
    const wrong = (options: unknown): unknown => {
      try {
        return instrument(system, options as never);
      } catch (error) {
        return (error as { path?: string }).path;
      }
    };
    expect(wrong({ tracing: true })).toBe("tracing");
    expect(wrong({ tracer: {} })).toBe("tracer");
    expect(wrong({ meter: 7 })).toBe("meter");
    expect(system.kernel.taps).toBeUndefined();
    await using _first = instrument(system);
    expect(wrong({})).toBe("system");
    instrument(system, { tracer: false }).close();
  });
});
