// Spans in memory, as trees of their names.

import { context, ROOT_CONTEXT, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { System } from "signalbox";
import { type CreateServer, type HttpAddress, httpServer, type RequestContext } from "signalbox/service";
import { afterEach, beforeEach } from "vitest";
import { macrotask } from "../support/host.js";

/** Spans as they end. The exporter of the SDK waits for a timer, which a simulation does not allow. */
class EndedSpans implements SpanProcessor {
  #spans: ReadableSpan[] = [];

  onStart(): void {}
  onEnd(span: ReadableSpan): void {
    this.#spans.push(span);
  }
  getFinishedSpans(): readonly ReadableSpan[] {
    return this.#spans;
  }
  reset(): void {
    this.#spans = [];
  }
  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

export const exporter: EndedSpans = new EndedSpans();
const provider = new BasicTracerProvider({ spanProcessors: [exporter] });
export const tracer: Tracer = provider.getTracer("test");

/** Before each test of the file: no spans, and a context manager of its own. */
export function freshSpans(): void {
  beforeEach(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    exporter.reset();
  });
  afterEach(() => context.disable());
}

/** Runs a function in a span. */
export const inSpan = <T>(name: string, run: () => Promise<T> | T): Promise<T> =>
  tracer.startActiveSpan(name, async (span) => {
    try {
      return await run();
    } finally {
      span.end();
    }
  });

/** A span that a program makes of its own, at once. */
export const mark = (name: string): void => tracer.startSpan(name).end();

/** How many traces there are. */
export const traces = (): number =>
  new Set(exporter.getFinishedSpans().map((span) => span.spanContext().traceId)).size;

/** The names of the spans above the first span of a name, the nearest first. A parent that is not here is `?`. */
export function above(name: string): string[] {
  const spans = exporter.getFinishedSpans();
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const names: string[] = [];
  let at: ReadableSpan | undefined = spans.find((span) => span.name === name);
  if (at === undefined)
    throw new Error(`no span "${name}" among: ${spans.map((one) => one.name).join(", ")}`);
  while (at?.parentSpanContext !== undefined) {
    at = byId.get(at.parentSpanContext.spanId);
    names.push(at?.name ?? "?");
  }
  return names;
}

/** Waits until a span of this name has ended. */
export async function ended(name: string): Promise<void> {
  while (!exporter.getFinishedSpans().some((span) => span.name === name)) await macrotask();
}

/** Starts an HTTP server in a span, and forgets the spans of the start. Gives the address of one of its paths. */
export async function served(
  system: System,
  handler: (context: RequestContext) => unknown,
  options: { readonly createServer?: CreateServer } = {},
): Promise<string> {
  const answer = async (_request: Request, context: RequestContext): Promise<Response> => {
    await handler(context);
    return new Response("done");
  };
  let port = 0;
  const onListening = (at: HttpAddress): void => {
    port = at.port;
  };
  const start = httpServer({ fetch: answer }, { port: 0, host: "127.0.0.1", onListening, ...options });
  await inSpan("boot", () => system.start(start));
  exporter.reset();
  return `http://127.0.0.1:${port}/orders/7`;
}

/** Makes a request outside of all spans. */
export const requested = (url: string, headers: Record<string, string> = {}): Promise<string> =>
  context.with(ROOT_CONTEXT, () => fetch(url, { headers }).then((response) => response.text()));
