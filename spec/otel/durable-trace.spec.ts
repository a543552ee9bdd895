// One request is one trace, also where it goes on in something durable.

import { SpanKind } from "@opentelemetry/api";
import { System } from "signalbox";
import { type AnyFlow, defineFlow, type FlowHost, flowHost } from "signalbox/flow";
import { instrument } from "signalbox/otel";
import { definePipeline, httpRequest, queue, route, runPipeline } from "signalbox/pipeline";
import { memory, type StoreSource } from "signalbox/store";
import { afterEach, describe, expect, it } from "vitest";
import { macrotask } from "../support/host.js";
import {
  above,
  ended,
  exporter,
  freshSpans,
  inSpan,
  mark,
  requested,
  served,
  tracer,
  traces,
} from "./support.js";

freshSpans();

const systems: System[] = [];
afterEach(async () => {
  for (const system of systems.splice(0)) await system.stop();
});

function traced(context: "sender" | "system" = "sender"): System {
  const system = new System({ name: "shop", report: false, context });
  systems.push(system);
  instrument(system, { tracer, meter: false });
  return system;
}

const start = (system: System, store: StoreSource, ...flows: AnyFlow[]): Promise<FlowHost> =>
  inSpan("boot", () => system.start(flowHost({ name: "flows", store, flows })));

const linksOf = (name: string): string[] =>
  exporter
    .getFinishedSpans()
    .filter((span) => span.name === name)
    .flatMap(({ links }) => links.map((link) => link.context.spanId));

const idOf = (name: string): string | undefined =>
  exporter
    .getFinishedSpans()
    .find((span) => span.name === name)
    ?.spanContext().spanId;

describe.each(["sender", "system"] as const)("a flow in a system with the context of the %s", (context) => {
  it("belongs to the request that starts it, with its steps and what they do [L26]", async () => {
    const system = traced(context);
    const order = defineFlow("order", async (flow) => {
      await flow.step("charge", () => mark("charged"));
      await flow.sleep(1);
      await flow.step("ship", async () => {
        await macrotask();
        mark("shipped");
      });
    });
    const flows = await start(system, memory(), order);
    const url = await served(system, async () => {
      const run = await flows.start(order, undefined, { id: "order-7" });
      await run.result();
    });
    await requested(url);
    await ended("GET");
    expect(above("charged")).toEqual(["step order", "flow order", "GET"]);
    expect(above("shipped")).toEqual(["step order", "flow order", "GET"]);
    // Elsewhere a message that is of no call belongs to nobody.
    if (context === "sender") expect(traces()).toBe(1);
    const kinds = exporter.getFinishedSpans().filter(({ name }) => name.endsWith(" order"));
    expect(kinds.map(({ name, kind }) => [name, kind])).toEqual([
      ["flow order", SpanKind.PRODUCER],
      ["step order", SpanKind.CONSUMER],
      ["step order", SpanKind.CONSUMER],
    ]);
    const words = exporter.getFinishedSpans().map(({ name }) => name);
    expect(words.filter((name) => name.includes("order-7") || name.includes("charge "))).toEqual([]);
  });

  it("belongs to that request on the next host that runs it, too [L26]", async () => {
    const store = memory();
    const first = traced(context);
    let isFirst = true;
    const order = defineFlow("order", async (flow) => {
      await flow.step("charge", () => mark("charged"));
      await flow.step("ship", () => {
        mark(isFirst ? "began" : "shipped");
        return isFirst ? new Promise<void>(() => undefined) : undefined;
      });
    });
    const flows = await start(first, store, order);
    const url = await served(first, () => flows.start(order, undefined, { id: "order-7" }));
    await requested(url);
    await ended("began");
    isFirst = false;
    first.exit("flows", "kill");
    await first.stop();
    const second = traced(context);
    await (await start(second, store, order)).get("order-7").result();
    expect(above("shipped").slice(0, 3)).toEqual(["step order", "flow order", "GET"]);
    expect(above("charged")).toEqual(["step order", "flow order", "GET"]);
    const steps = exporter.getFinishedSpans().filter(({ name }) => name === "step order");
    expect(steps.map(({ attributes }) => attributes["signalbox.outcome"])).toEqual([
      "done",
      "aborted",
      "done",
    ]);
    expect(new Set(steps.map((span) => span.spanContext().traceId)).size).toBe(1);
  });
});

describe("a flow", () => {
  it("has the flows that it starts in its trace [L26]", async () => {
    const system = traced();
    const child = defineFlow("child", (flow) => flow.step("inner", () => mark("inside")));
    const parent = defineFlow("parent", async (flow) => {
      await flow.call(child, undefined);
    });
    const flows = await start(system, memory(), parent, child);
    await inSpan("request", async () => (await flows.start(parent, undefined)).result());
    expect(above("inside")).toEqual(["step child", "flow child", "flow parent", "request"]);
  });

  it("begins a trace of its own when nothing starts it in a trace, and when it begins anew [L26]", async () => {
    const system = traced();
    const poll = defineFlow("poll", async (flow, round: number) => {
      await flow.step("look", () => mark(`look ${round}`));
      if (round < 2) flow.continueAsNew(round + 1);
    });
    const flows = await start(system, memory(), poll);
    exporter.reset();
    const run = await flows.start(poll, 1);
    await run.result();
    expect(above("look 1")).toEqual(["step poll", "flow poll"]);
    expect(above("look 2")).toEqual(["step poll", "flow poll"]);
    expect(linksOf("flow poll")).toEqual([idOf("flow poll")]);
  });

  it("ends the span of each attempt once: of one that failed, and of one that was cancelled [L12]", async () => {
    const system = traced();
    const order = defineFlow("order", async (flow) => {
      const retry = { attempts: 2, backoff: { minMs: 1, maxMs: 1 } };
      const flaky = ({ attempt }: { attempt: number }): void => {
        if (attempt === 1) throw new Error("not yet");
      };
      await flow.step("charge", flaky, { retry });
      await flow.step("ship", () => {
        mark("began");
        return new Promise<void>(() => undefined);
      });
    });
    const flows = await start(system, memory(), order);
    const run = await inSpan("request", () => flows.start(order, undefined));
    await ended("began");
    await run.cancel();
    await run.result().catch(() => undefined);
    const steps = exporter.getFinishedSpans().filter(({ name }) => name === "step order");
    expect(steps.map(({ attributes }) => attributes["signalbox.outcome"])).toEqual([
      "retried",
      "done",
      "aborted",
    ]);
  });

  it("sends `traceparent` with the requests of its steps [L24]", async () => {
    const system = traced();
    const seen: (string | null)[] = [];
    const answer: typeof fetch = async (_url, init) => {
      seen.push(new Headers(init?.headers).get("traceparent"));
      return Response.json(1);
    };
    const asks = queue<number>("asks");
    const asking = route("asking", { from: asks }).via(
      httpRequest<number>("ask", { url: "http://a.example/", fetch: answer as never }),
    );
    const pipeline = definePipeline("asks", { routes: [asking] });
    const order = defineFlow("order", async (flow) => {
      await flow.step("ask", async () => {
        await runPipeline(system, pipeline, { messages: { to: asks, values: [7] } });
      });
    });
    const flows = await start(system, memory(), order);
    await inSpan("request", async () => (await flows.start(order, undefined)).result());
    const trace = exporter.getFinishedSpans().find(({ name }) => name === "request");
    expect(seen.map((header) => header?.slice(3, 35))).toEqual([trace?.spanContext().traceId]);
  });
});
