// A thread with an SDK of OpenTelemetry of its own, whose processes say in which trace they are.

import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { type Context, defineServer, type Pid, type ServerDefinition } from "signalbox";
import { type ThreadProgram, threadProgram } from "signalbox/nodes";
import { instrument } from "signalbox/otel";

/** The trace of the running code, and the span above its own. */
export interface Seen {
  readonly trace: string | undefined;
  readonly parent: string | undefined;
}

function seen(): Seen {
  const span = trace.getActiveSpan() as
    | { spanContext(): { traceId: string }; parentSpanContext?: { spanId: string } }
    | undefined;
  return { trace: span?.spanContext().traceId, parent: span?.parentSpanContext?.spanId };
}

interface Shelved {
  readonly ctx: Context<never>;
}

export const Shelf: ServerDefinition<
  [],
  { look: (state: Shelved) => Seen },
  { note: (state: Shelved, to: Pid<Seen>) => void }
> = defineServer({
  label: "shelf",
  init: (ctx): Shelved => ({ ctx }),
  calls: { look: (_state: Shelved) => seen() },
  casts: { note: ({ ctx }: Shelved, to: Pid<Seen>) => ctx.send(to, seen()) },
});

const program: ThreadProgram = threadProgram({
  programs: {
    shelf: Shelf,
    echo: { handle: (ctx, to: Pid<Seen>) => ctx.send(to, seen()) },
  },
  onStart: (system) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    instrument(system, { tracer: new BasicTracerProvider().getTracer("thread"), meter: false });
  },
});
export default program;
