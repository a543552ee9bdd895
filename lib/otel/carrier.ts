// How a trace goes on in another program, and comes from one: by the propagator of the host; without one, by `traceparent` and
// `tracestate` of the W3C.

import {
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  type SpanContext,
  type TextMapGetter,
  trace,
} from "@opentelemetry/api";
import type { Carrier } from "../process/taps.js";
import type { JobTrace, ReceivedHeaders } from "../service/telemetry/edges.js";

const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;

const headersOf: TextMapGetter<ReceivedHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => headers[name.toLowerCase()] as string | string[] | undefined,
};

/** The headers that name a context. */
export function headersTo(from: Context): Carrier {
  const headers: Record<string, string> = {};
  propagation.inject(from, headers);
  if (hasPropagator()) return headers;
  const span = trace.getSpanContext(from);
  return span !== undefined && isSpanContextValid(span) ? w3c(span) : headers;
}

function w3c({ traceId, spanId, traceFlags, traceState }: SpanContext): Carrier {
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

/**
 * The span of a context as text that is kept with something durable: `traceparent`, and `tracestate` behind a space. Always that of the
 * W3C, because the program that reads it may have another propagator. No baggage, which is of the request alone.
 */
export function keptOf(from: Context): string | undefined {
  const span = trace.getSpanContext(from);
  if (span === undefined || !isSpanContextValid(span)) return undefined;
  const { traceparent, tracestate } = w3c(span);
  return tracestate === undefined ? traceparent : `${traceparent} ${tracestate}`;
}

/** The span that was kept, if the text names one. */
export function spanKept(kept: string): SpanContext | undefined {
  const [traceparent, ...tracestate] = kept.split(" ");
  return spanFrom({ traceparent, tracestate: tracestate.join(" ") });
}

/** The context in which a thread of a pool goes on. */
export function jobTraceOf(from: Context): JobTrace | undefined {
  const span = trace.getSpanContext(from);
  if (span === undefined || !isSpanContextValid(span)) return undefined;
  const { traceId, spanId, traceFlags } = span;
  return { headers: headersTo(from), span: { traceId, spanId, traceFlags } };
}

/** The context that headers name, within the context that is given. */
export function contextFrom(headers: ReceivedHeaders, within: Context): Context {
  if (hasPropagator()) return propagation.extract(within, headers, headersOf);
  const span = spanFrom(headers);
  return span === undefined ? within : trace.setSpanContext(within, span);
}

function spanFrom(headers: ReceivedHeaders): SpanContext | undefined {
  const { traceparent, tracestate } = headers;
  const [, traceId, spanId, flags] =
    TRACEPARENT.exec(typeof traceparent === "string" ? traceparent : "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const state =
    typeof tracestate === "string" && tracestate !== "" ? { traceState: createTraceState(tracestate) } : {};
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true, ...state };
  return isSpanContextValid(span) ? span : undefined;
}

/** The API's own propagator has no fields, and does nothing. */
function hasPropagator(): boolean {
  return propagation.fields().length > 0;
}
