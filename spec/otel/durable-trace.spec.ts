// One request is one trace, also where it goes on in something durable.

import { SpanKind } from "@opentelemetry/api";
import { System } from "signalbox";
import { type AnyFlow, defineFlow, type FlowHost, flowHost } from "signalbox/flow";
import { instrument } from "signalbox/otel";
import {
  definePipeline,
  done,
  feed,
  fromIterable,
  httpRequest,
  openQueues,
  type PipelineDefinition,
  type PipelineHost,
  pipelineHost,
  queue,
  route,
  runPipeline,
} from "signalbox/pipeline";
import { defineTable, memory, openStore, type StoreSource } from "signalbox/store";
import { afterEach, describe, expect, it } from "vitest";
import { Payloads } from "../../lib/host/payload/payloads.js";
import { sourceId } from "../../lib/pipeline/definition/message-id.js";
import { messageBody } from "../../lib/pipeline/ledger/message-size.js";
import { executions, messages, PIPELINE_SCHEMA, READY } from "../../lib/pipeline/ledger/tables.js";
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

const lines = queue<string>("lines");
const prints = queue<string>("prints");

/** `shout` is one route, `print` the next. */
function shouting(shout: (line: string) => unknown, print: (line: string) => unknown = mark) {
  const first = route("shout", { from: lines, retry: { attempts: 1 } })
    .via("upper", async (line: string) => {
      await shout(line);
      return line.toUpperCase();
    })
    .to(prints);
  const second = route("print", { from: prints }).via(
    "out",
    async (line: string) => void (await print(line)),
  );
  return definePipeline("shouting", { routes: [first, second] });
}

const hosted = (
  system: System,
  pipeline: PipelineDefinition<never>,
  store?: StoreSource,
): Promise<PipelineHost> =>
  inSpan("boot", () =>
    system.start(
      pipelineHost({ name: "pipelines", pipelines: [pipeline], ...(store !== undefined && { store }) }),
    ),
  );

describe.each(["sender", "system"] as const)(
  "a pipeline in a system with the context of the %s",
  (context) => {
    it.each(["in memory", "in a store"])("belongs to the request that starts it, %s [L27]", async (where) => {
      const system = traced(context);
      const pipeline = shouting(() => macrotask());
      const host = await hosted(system, pipeline, where === "in a store" ? memory() : undefined);
      const url = await served(system, async () => {
        const run = await host.start(pipeline, { id: "run-7", messages: { to: lines, values: ["a", "b"] } });
        await run.completed();
      });
      await requested(url);
      await ended("GET");
      expect(above("A")).toEqual(["shouting/print", "pipeline shouting", "GET"]);
      expect(above("B")).toEqual(["shouting/print", "pipeline shouting", "GET"]);
      expect(above("shouting/shout")).toEqual(["pipeline shouting", "GET"]);
      if (context === "sender") expect(traces()).toBe(1);
      const names = exporter.getFinishedSpans().map(({ name }) => name);
      expect(names.filter((name) => name === "shouting/shout" || name === "shouting/print")).toHaveLength(4);
      expect(names.filter((name) => name.includes("run-7"))).toEqual([]);
    });

    it("belongs to that request on the next host that works on it, too [L27]", async () => {
      const store = memory();
      const first = traced(context);
      let isFirst = true;
      const pipeline = shouting(
        () => undefined,
        (line) => {
          mark(isFirst ? "began" : line);
          return isFirst ? new Promise<void>(() => undefined) : undefined;
        },
      );
      const host = await hosted(first, pipeline, store);
      const start = { id: "run-7", messages: { to: lines, values: ["a"] } };
      const url = await served(first, () => host.start(pipeline, start));
      await requested(url);
      await ended("began");
      isFirst = false;
      first.exit("pipelines", "kill");
      await first.stop();
      const second = traced(context);
      await (await hosted(second, pipeline, store)).get("run-7").completed();
      expect(above("A").slice(0, 3)).toEqual(["shouting/print", "pipeline shouting", "GET"]);
      const attempts = exporter.getFinishedSpans().filter(({ name }) => name === "shouting/print");
      expect(attempts.map(({ attributes }) => attributes["signalbox.outcome"])).toEqual([
        "aborted",
        "passed",
      ]);
      expect(new Set(attempts.map((span) => span.spanContext().traceId)).size).toBe(1);
    });
  },
);

describe("a pipeline", () => {
  it("has the sources that it reads in its trace, and a batch as one span [L27]", async () => {
    const system = traced();
    const source = fromIterable("letters", async function* () {
      mark("read");
      yield* ["a", "b", "c"];
    });
    const all = route("all", { from: lines }).batch("join", { size: 3 }, (values) => {
      mark(`joined ${values.length}`);
      return [];
    });
    const pipeline = definePipeline("joining", { routes: [all], sources: [feed(source, lines)] });
    const host = await hosted(system, pipeline);
    await inSpan("request", async () => (await host.start(pipeline)).completed());
    expect(above("read")).toEqual(["pipeline joining", "request"]);
    expect(above("joined 3")).toEqual(["joining/all", "pipeline joining", "request"]);
    const counts = exporter
      .getFinishedSpans()
      .filter(({ name }) => name === "joining/all")
      .map(({ attributes }) => attributes["messaging.batch.message_count"]);
    expect(counts.filter((count) => count !== undefined)).toEqual([3]);
  });

  it("of an older release, whose row has no trace, is worked on [L27]", async () => {
    const { trace: _, ...columns } = executions.columns;
    const { indexes, unique } = executions;
    const table = defineTable(executions.name, {
      columns,
      key: ["number"],
      indexes: indexes as never,
      unique: unique as never,
    });
    const tables = PIPELINE_SCHEMA.tables.map((one) => (one === executions ? table : one));
    const store = memory();
    const system = traced();
    const older = await openStore(system, store, [{ ...PIPELINE_SCHEMA, version: 1, tables }]);
    const row = { number: 1, id: "run-7", pipeline: "shouting", status: "running", pending: 1, inputs: 1 };
    const body = await messageBody(new Payloads(undefined), "a");
    await older.commit({
      writes: [
        { type: "insert", table, row: { ...row, done: 0, dead: 0, created: 1 } },
        {
          type: "put",
          table: messages,
          row: { scope: 1, queue: "lines", lane: READY, id: sourceId(0, 0), body },
        },
      ],
    });
    await older.close();
    const host = await hosted(
      system,
      shouting(() => undefined),
      store,
    );
    expect((await host.get("run-7").completed()).done).toBe(2);
    expect(above("A")).toEqual(["shouting/print"]);
  });

  it("begins a replay in the trace that asks for it, with a link to the first one [L27]", async () => {
    const system = traced();
    let isBroken = true;
    const pipeline = shouting(() => {
      if (isBroken) throw new Error("dropped");
    });
    const host = await hosted(system, pipeline, memory());
    const start = { messages: { to: lines, values: ["a"] } };
    const run = await inSpan("request", () => host.start(pipeline, start));
    await run.completed();
    isBroken = false;
    const again = await inSpan("repair", () => run.replay({ dead: true }));
    await again.completed();
    expect(above("A").at(-1)).toBe("repair");
    expect(linksOf("pipeline shouting")).toEqual([idOf("pipeline shouting")]);
  });
});

describe.each(["sender", "system"] as const)("a queue in a system with the context of the %s", (context) => {
  it("hands a message over in the trace in which it was published, on whichever host [L29]", async () => {
    const store = memory();
    const first = traced(context);
    const publishing = await openQueues(first, { store });
    const url = await served(first, async () => {
      await publishing.queue<string>("orders").publish("lamp", { id: "order-7" });
    });
    await requested(url);
    await ended("GET");
    await publishing.close();
    const second = traced(context);
    const queues = await openQueues(second, { store });
    const orders = queues.queue<string>("orders", { backoff: { minMs: 1, maxMs: 1 } });
    const mails = queues.queue<string>("mails");
    await inSpan("boot", () =>
      orders.subscribe({}, async ({ attempt, publish }) => {
        if (attempt === 1) throw new Error("not yet");
        await macrotask();
        mark("handled");
        await publish(mails, "sold");
        return done;
      }),
    );
    await mails.subscribe({}, () => {
      mark("mailed");
      return done;
    });
    await ended("mailed");
    const names = ["process orders", "publish orders", "GET"];
    expect(above("handled").slice(0, 3)).toEqual(names);
    expect(above("mailed").slice(0, 5)).toEqual(["process mails", "publish mails", ...names]);
    const attempts = exporter.getFinishedSpans().filter(({ name }) => name === "process orders");
    expect(attempts.map(({ attributes }) => attributes["signalbox.outcome"])).toEqual(["failed", "done"]);
    expect(new Set(attempts.map((span) => span.spanContext().traceId)).size).toBe(1);
    await queues.close();
  });
});
