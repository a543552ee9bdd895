// One request is one trace: whatever it starts, however that runs.

import { createServer as httpOf } from "node:http";
import { createRequire } from "node:module";
import { context, ROOT_CONTEXT, type SpanContext, SpanKind, trace } from "@opentelemetry/api";
import {
  ConsumerGroup,
  consumer,
  defineServer,
  System,
  supervisor,
  task,
  taskStream,
  taskSupervisor,
} from "signalbox";
import { instrument } from "signalbox/otel";
import { httpRequest } from "signalbox/pipeline";
import { type CreateServer, pool } from "signalbox/service";
import { describe, expect, it } from "vitest";
import { Bench } from "../pipeline/adapters/support.js";
import { file } from "../service/pool/support.js";
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

function traced(): System {
  const system = new System({ name: "shop", report: false, context: "sender" });
  instrument(system, { tracer, meter: false });
  return system;
}

describe("one trace", () => {
  const Shelf = defineServer({
    label: "shelf",
    init: () => undefined,
    calls: { look: () => mark("inside") },
    casts: { note: () => mark("inside") },
  });
  const kinds: Record<string, readonly [(system: System) => Promise<() => unknown>, readonly string[]]> = {
    "a call": [
      async (system) => {
        const shelf = await system.start(Shelf);
        return () => shelf.call.look();
      },
      ["shelf/look", "shelf/look"],
    ],
    "a cast": [
      async (system) => {
        const shelf = await system.start(Shelf);
        return () => shelf.cast.note();
      },
      ["shelf/note", "shelf/note"],
    ],
    "a message": [
      async (system) => {
        const pid = system.spawn<string>({ handle: () => mark("inside") }, { label: "echo" });
        return () => system.send(pid, "hello");
      },
      ["process echo"],
    ],
    "a dispatch": [
      async (system) => {
        const group = new ConsumerGroup<string>({ name: "pickers", patienceMs: 1_000 });
        await system.start(
          supervisor({ children: [{ id: "p", start: consumer(() => mark("inside"), { group }) }] }),
        );
        return () => system.dispatch(group, "book");
      },
      ["process pickers", "attempt pickers", "dispatch pickers"],
    ],
    "a task": [async (system) => () => task(system, () => mark("inside")).value(), []],
    "a task of a supervisor": [
      async (system) => {
        const tasks = await system.start(taskSupervisor());
        return () => tasks.nolink(system, () => mark("inside")).value();
      },
      [],
    ],
    "a stream of tasks": [
      async (system) => async () => {
        const items = taskStream(
          system,
          [1, 2, 3],
          (n) => macrotask().then(() => n === 3 && mark("inside")),
          {
            concurrency: 1,
          },
        );
        for await (const _ of items);
      },
      [],
    ],
    "a spawn": [
      async (system) => () =>
        void system.spawn(async () => {
          await macrotask();
          mark("inside");
        }),
      [],
    ],
    "a process that a process spawns": [
      async (system) => () =>
        void system.spawn((ctx) => {
          ctx.spawn(() => mark("inside"));
        }),
      [],
    ],
    "a start": [
      async (system) => () => system.start(defineServer({ label: "desk", init: () => mark("inside") })),
      [],
    ],
  };

  it.each(Object.entries(kinds))("holds %s that it makes [L25]", async (_kind, [prepare, between]) => {
    await using system = traced();
    const act = await prepare(system);
    exporter.reset();
    await inSpan("request", act);
    await ended("inside");
    await system.idle();
    expect(above("inside")).toEqual([...between, "request"]);
    expect(traces()).toBe(1);
  });

  it.each(["a call that has timed out", "a cast that has waited long"])("holds %s [L25]", async (kind) => {
    const system = traced();
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const Desk = defineServer({
      label: "desk",
      init: () => undefined,
      calls: { wait: () => gate, look: () => mark("inside") },
      casts: { note: () => mark("inside") },
    });
    const desk = await system.start(Desk);
    const busy = desk.call.wait();
    await inSpan("request", async () => {
      if (kind.startsWith("a cast")) desk.cast.note();
      else
        await desk
          .with({ timeoutMs: 0, withdraw: false })
          .call.look()
          .catch(() => undefined);
    });
    // Spans of others meanwhile.
    for (let i = 0; i < 2_000; i++) system.send(desk.pid as never, i);
    open();
    await busy;
    await ended("inside");
    const name = kind.startsWith("a cast") ? "desk/note" : "desk/look";
    expect(above("inside")).toEqual([name, name, "request"]);
    await system.stop();
  });

  it("does not hold what a supervisor restarts later [L25]", async () => {
    await using system = traced();
    const Fragile = defineServer({
      label: "fragile",
      init: () => mark("began"),
      casts: { fail: () => Promise.reject(new Error("dropped")) },
    });
    await inSpan("boot", () =>
      system.start(supervisor({ children: [{ id: "one", name: "one", start: Fragile }] })),
    );
    expect(above("began").at(-1)).toBe("boot");
    exporter.reset();
    await inSpan("request", () => Fragile.at(system, "one").cast.fail());
    await ended("began");
    expect(above("began")).toEqual([]);
    expect(above("crash one").at(-1)).toBe("request");
  });
});

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("an HTTP request", () => {
  it("is a SERVER span below the `traceparent` that it brought, and above all that it does [L22]", async () => {
    await using system = traced();
    const Desk = defineServer({ label: "desk", init: () => undefined, calls: { ask: () => mark("inside") } });
    const desk = await system.start(Desk);
    const url = await served(system, ({ ctx, setRoute }) => {
      setRoute("/orders/:id");
      return task(ctx, () => desk.call.ask()).value();
    });
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "shop=1" };
    await requested(url, headers);
    const name = "GET /orders/:id";
    await ended(name);
    expect(above("inside")).toEqual(["desk/ask", "desk/ask", name, "?"]);
    const root = exporter.getFinishedSpans().find((span) => span.name === name);
    expect(root).toMatchObject({
      kind: SpanKind.SERVER,
      parentSpanContext: { spanId: SPAN, isRemote: true },
    });
    expect(root?.spanContext().traceId).toBe(TRACE);
    expect(root?.spanContext().traceState?.get("shop")).toBe("1");
    expect(traces()).toBe(1);
    expect(JSON.stringify(root?.attributes)).not.toContain("/orders/7");
  });

  it("begins a trace of its own without one, whatever started the server [L22]", async () => {
    await using system = traced();
    const url = await served(system, () => mark("inside"));
    for (const traceparent of [
      "",
      "00-0-0-01",
      `ff-${TRACE}-${SPAN}-01`,
      `00-${"0".repeat(32)}-${SPAN}-01`,
    ]) {
      exporter.reset();
      await requested(url, { traceparent });
      await ended("GET");
      expect(above("inside")).toEqual(["GET"]);
    }
  });

  it("is below a span that the host has begun for it [L22]", async () => {
    await using system = traced();
    const createServer: CreateServer = (options, listener) =>
      httpOf(options, (incoming, outgoing) => {
        const span = tracer.startSpan("host", {}, ROOT_CONTEXT);
        outgoing.once("close", () => span.end());
        context.with(trace.setSpan(ROOT_CONTEXT, span), listener, undefined, incoming, outgoing);
      });
    const url = await served(system, ({ ctx }) => task(ctx, () => mark("inside")).value(), { createServer });
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01` };
    await requested(url, headers);
    await ended("host");
    await ended("GET");
    expect(above("inside")).toEqual(["GET", "host"]);
    expect(exporter.getFinishedSpans().find(({ name }) => name === "GET")?.kind).toBe(SpanKind.INTERNAL);
  });

  it("ends with an error status when its handler crashes, and the crash is part of the trace [L22]", async () => {
    await using system = traced();
    const url = await served(system, async () => {
      await macrotask();
      throw new Error("spilled");
    });
    await requested(url);
    await ended("GET");
    expect(above("crash request")).toEqual(["GET"]);
    const root = exporter.getFinishedSpans().find(({ name }) => name === "GET");
    expect(root?.attributes).toMatchObject({ "http.response.status_code": 500, "error.type": "500" });
  });
});

describe("what `httpRequest` sends", () => {
  it("carries the trace of the message, also when it is repeated [L24]", async () => {
    await using system = traced();
    const seen: (string | null)[] = [];
    const answer: typeof fetch = async (_url, init) => {
      seen.push(new Headers(init?.headers).get("traceparent"));
      return seen.length === 1 ? new Response("", { status: 503 }) : Response.json(1);
    };
    const backoff = { minMs: 1, maxMs: 1 };
    const ask = httpRequest<number>("ask", { url: "http://a.example/", fetch: answer as never, backoff });
    await inSpan("request", () => new Bench(system).pass(ask, 7));
    const request = exporter
      .getFinishedSpans()
      .find(({ name }) => name === "request")
      ?.spanContext();
    const expected = `00-${request?.traceId}-${request?.spanId}-01`;
    expect(seen).toEqual([expected, expected]);
  });
});

describe("a job of a pool", () => {
  it("goes on with the trace of its caller within its thread [L23]", async () => {
    const require = createRequire(import.meta.url);
    const pathOf = (name: string): string => JSON.stringify(require.resolve(name));
    const worker = file(`
      import { createRequire } from "node:module";
      const require = createRequire(${JSON.stringify(import.meta.url)});
      const { context, trace } = require(${pathOf("@opentelemetry/api")});
      const { AsyncLocalStorageContextManager } = require(${pathOf("@opentelemetry/context-async-hooks")});
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      export const here = () => trace.getSpanContext(context.active());
      export const later = async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return here();
      };
    `);
    interface Jobs {
      here(): SpanContext | undefined;
      later(): Promise<SpanContext | undefined>;
    }
    await using system = traced();
    const jobs = await system.start(pool<Jobs>(worker, { size: 1, label: "jobs" }));
    exporter.reset();
    const found = await inSpan("request", async () => [await jobs.run.here(), await jobs.run.later()]);
    const servers = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.SERVER);
    expect(found).toEqual(
      servers.map((span) => {
        const { traceId, spanId, traceFlags } = span.spanContext();
        return { traceId, spanId, traceFlags, isRemote: true };
      }),
    );
    expect(above("jobs/here")).toContain("request");
    expect(traces()).toBe(1);
  });
});
