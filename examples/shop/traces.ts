// Traces of the shop on the console, by OpenTelemetry: an order's request, its calls, its dispatch with the attempts, crashes.

import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { System } from "signalbox";
import { instrument } from "signalbox/otel";

/** Call it before the first process is spawned. The system needs `context: "sender"`. */
export function traceToConsole(system: System): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
  });
  instrument(system, { tracer: provider.getTracer("shop"), meter: false });
}
