// A call in a request that is traced, and the same two spans made by hand with OpenTelemetry's SDK.

import { context, SpanKind, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { defineServer, System } from "signalbox";
import { instrument } from "signalbox/otel";
import type { Program, Run } from "./program.js";

const Echo = defineServer({
  label: "echo",
  init: () => ({}),
  calls: { echo: (_state, value: number) => value },
});

/** Checks spans as they end, and keeps none: how they are exported costs both sides the same. */
class PairedSpans implements SpanProcessor {
  /** Handlings below their call, within the trace of the request. */
  pairs = 0;
  #call: ReadableSpan | undefined;
  #handling: ReadableSpan | undefined;
  readonly #traceId: () => string | undefined;

  constructor(traceId: () => string | undefined) {
    this.#traceId = traceId;
  }

  onStart(): void {}

  /** Either of the two ends first: a reply is sent before its handler returns. */
  onEnd(span: ReadableSpan): void {
    if (span.kind === SpanKind.CLIENT) this.#call = span;
    else if (span.kind === SpanKind.SERVER) this.#handling = span;
    else return;
    const { traceId, spanId } = this.#call?.spanContext() ?? {};
    if (spanId === undefined || this.#handling?.parentSpanContext?.spanId !== spanId) return;
    if (traceId === this.#traceId()) this.pairs++;
  }

  async shutdown(): Promise<void> {}
  async forceFlush(): Promise<void> {}
}

/** Runs a request with calls, one after the other. Counts those whose spans are right. */
async function tracedRequest(
  prepare: (tracer: Tracer) => Promise<{ run(): Promise<void>; end(): Promise<void> }>,
): Promise<Run> {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  let traceId: string | undefined;
  const spans = new PairedSpans(() => traceId);
  const tracer = new BasicTracerProvider({ spanProcessors: [spans] }).getTracer("bench");
  const { run, end } = await prepare(tracer);
  await tracer.startActiveSpan("request", async (request) => {
    traceId = request.spanContext().traceId;
    await run();
    request.end();
  });
  return {
    counted: spans.pairs,
    end: async () => {
      await end();
      context.disable();
    },
  };
}

/** Calls of a server in a system that is instrumented. */
export function callTraced(count: number): Program {
  return {
    operations: count,
    expected: count,
    run: () =>
      tracedRequest(async (tracer) => {
        const system = new System({ report: false, context: "sender" });
        instrument(system, { tracer, meter: false });
        const { call } = await system.start(Echo);
        return {
          run: async () => {
            for (let value = 0; value < count; value++)
              if ((await call.echo(value)) !== value) throw new Error("an unexpected reply");
          },
          end: () => system.stop(),
        };
      }),
  };
}

/** Two spans with the attributes of a call, each active while its code runs. */
export function twoSpans(count: number): Program {
  return {
    operations: count,
    expected: count,
    run: () =>
      tracedRequest(async (tracer) => {
        const attributes = { "rpc.system": "signalbox", "rpc.service": "echo", "rpc.method": "echo" };
        const handling = { ...attributes, "signalbox.process": "<system.1 echo>", "signalbox.waited_ms": 0 };
        const handle = (value: number): Promise<number> =>
          tracer.startActiveSpan(
            "echo/echo",
            { kind: SpanKind.SERVER, attributes: handling },
            async (span) => {
              span.setAttribute("signalbox.outcome", "handled");
              span.end();
              return value;
            },
          );
        const call = (value: number): Promise<number> =>
          tracer.startActiveSpan("echo/echo", { kind: SpanKind.CLIENT, attributes }, async (span) => {
            const reply = await handle(value);
            span.setAttribute("signalbox.outcome", "replied");
            span.end();
            return reply;
          });
        return {
          run: async () => {
            for (let value = 0; value < count; value++)
              if ((await call(value)) !== value) throw new Error("an unexpected reply");
          },
          end: async () => undefined,
        };
      }),
  };
}
