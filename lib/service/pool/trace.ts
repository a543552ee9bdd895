// The trace of a job within its thread. A thread of the host gets the source of this function as text (node-thread.ts), so the
// function uses nothing but its arguments.

import type { JobTrace } from "../telemetry/edges.js";

type Api = typeof import("@opentelemetry/api");

/**
 * Runs a job as a child of the span that sent it. All copies of OpenTelemetry's API in a thread share what the worker file has set
 * up; this has no effect when that is nothing.
 *
 * @param load - `require` as a file of this library has it
 */
export function inTrace(load: (file: string) => unknown, trace: JobTrace, run: () => unknown): unknown {
  const { context, propagation, ROOT_CONTEXT, trace: spans } = load("@opentelemetry/api") as Api;
  const sent = propagation.extract(ROOT_CONTEXT, trace.headers);
  const isWhole = spans.getSpanContext(sent) !== undefined;
  const inside = isWhole ? sent : spans.setSpanContext(sent, { ...trace.span, isRemote: true });
  return context.with(inside, run);
}
