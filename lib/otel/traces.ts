// From events to spans. The names and attributes follow OpenTelemetry's conventions for RPC and for messaging where they fit.

import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  trace as opens,
  ROOT_CONTEXT,
  SpanKind,
  type Tracer,
} from "@opentelemetry/api";
import type { Pid } from "../process/pid.js";
import { formatReason } from "../process/reason.js";
import type { TelemetryEvents } from "../service/telemetry/events.js";
import type { TelemetryStream } from "../service/telemetry/telemetry.js";
import { contextFrom, headersTo, jobTraceOf, keptOf, spanKept } from "./carrier.js";
import { Spans, within } from "./spans.js";

const SYSTEM = "signalbox";

/** Makes spans of the events of a stream. Returns the function that ends it. */
export function trace(stream: TelemetryStream, tracer: Tracer): () => void {
  const spans = new Spans(tracer, (number, made, parent) => {
    // Without an exporter, spans have no ids.
    if (isSpanContextValid(made))
      stream.traced(number, { trace: made.traceId, id: made.spanId, parent: parent?.spanId });
  });
  stream.traceBy({
    around: (number, run) => {
      const inside = spans.contextOf(number);
      return inside === undefined ? run() : context.with(inside, run);
    },
    received: (headers, run) => {
      const here = context.active();
      // A span of the host that has begun for this request knows its headers.
      context.with(isInSpan(here) ? here : contextFrom(headers, here), run);
    },
    sent: () => headersTo(context.active()),
    job: () => jobTraceOf(context.active()),
    kept: () => keptOf(context.active()),
    continuing: (kept, run) => {
      const span = kept ? spanKept(kept) : undefined;
      return context.with(span === undefined ? ROOT_CONTEXT : within(span), run);
    },
    elsewhere: (number, kept) => {
      const span = spanKept(kept);
      if (span !== undefined) spans.adopt(number, span);
    },
  });
  traceRequests(stream, spans);
  traceCalls(stream, spans);
  traceMessages(stream, spans);
  traceDispatches(stream, spans);
  traceLives(stream, spans);
  traceFlows(stream, spans);
  traceQueues(stream, spans);
  return () => {
    stream.traceBy(undefined);
    spans.close();
  };
}

/** The name of a SERVER span is its method and its route, which is known at its end. */
function traceRequests(stream: TelemetryStream, spans: Spans): void {
  stream.subscribe("http:begin", ({ span, label, method }) => {
    const parent = context.active();
    const isOutermost = opens.getSpanContext(parent)?.isRemote ?? !isInSpan(parent);
    spans.begin(span, method, {
      kind: isOutermost ? SpanKind.SERVER : SpanKind.INTERNAL,
      parent,
      attributes: { "http.request.method": method, "signalbox.server": label },
    });
  });
  stream.subscribe("http:end", ({ span, method, outcome, status, route }) => {
    if (route !== undefined) spans.rename(span, `${method} ${route}`);
    const attributes = {
      ...(status !== undefined && { "http.response.status_code": status }),
      ...(route !== undefined && { "http.route": route }),
    };
    const failure = status !== undefined && status >= 500 ? String(status) : undefined;
    spans.end(span, { outcome, failure, attributes });
  });
}

function isInSpan(one: Context): boolean {
  return opens.getSpanContext(one) !== undefined;
}

function traceCalls(stream: TelemetryStream, spans: Spans): void {
  stream.subscribe("call:begin", ({ span, label, method }) => {
    const attributes =
      method === undefined
        ? { "rpc.system": SYSTEM, "rpc.service": label }
        : { "rpc.system": SYSTEM, "rpc.service": label, "rpc.method": method };
    const plan = { kind: SpanKind.CLIENT, parent: context.active(), attributes };
    spans.begin(span, nameOf(label, method ?? "call"), plan);
  });
  stream.subscribe("call:end", ({ span, outcome }) => {
    const isOver = outcome === "replied";
    spans.end(span, { outcome, failure: isOver ? undefined : outcome, isOver });
  });
  stream.subscribe("cast", ({ span, label, method }) => {
    const attributes = { ...messaging("send", label), "messaging.operation.name": method };
    const plan = { kind: SpanKind.PRODUCER, parent: context.active(), attributes };
    spans.begin(span, nameOf(label, method), plan);
    spans.end(span, {});
  });
}

function traceMessages(stream: TelemetryStream, spans: Spans): void {
  stream.subscribe("message:begin", (event) => {
    const { span, kind, cause } = event;
    spans.begin(span, whatOf(event), {
      kind: kind === "call" ? SpanKind.SERVER : SpanKind.CONSUMER,
      // A message of no sampled call, cast or dispatch: in a system with `context: "sender"` this is its sender's.
      parent: spans.contextOf(cause) ?? context.active(),
      attributes: aboutMessage(event),
    });
  });
  stream.subscribe("message:end", ({ span, outcome }) => {
    const isOver = outcome === "handled";
    spans.end(span, { outcome, failure: isOver ? undefined : outcome, isOver });
  });
}

type MessageBegin = TelemetryEvents["message:begin"];

function whatOf({ kind, name, label }: MessageBegin): string {
  return kind === "delivery" || name === undefined ? `process ${name ?? label}` : nameOf(label, name);
}

/** Written out: a spread of objects for each message costs more than the span's other half. */
function aboutMessage({ process, label, kind, name, waitedMs }: MessageBegin): Attributes {
  const pid = String(process);
  if (kind !== "call")
    return {
      "messaging.system": SYSTEM,
      "messaging.operation.type": "process",
      "messaging.destination.name": kind === "delivery" ? (name ?? label) : label,
      "signalbox.process": pid,
      "signalbox.waited_ms": waitedMs,
    };
  return name === undefined
    ? {
        "rpc.system": SYSTEM,
        "rpc.service": label,
        "signalbox.process": pid,
        "signalbox.waited_ms": waitedMs,
      }
    : {
        "rpc.system": SYSTEM,
        "rpc.service": label,
        "rpc.method": name,
        "signalbox.process": pid,
        "signalbox.waited_ms": waitedMs,
      };
}

function traceDispatches(stream: TelemetryStream, spans: Spans): void {
  stream.subscribe("dispatch:begin", ({ span, group, envelope }) => {
    spans.begin(span, `dispatch ${group}`, {
      kind: SpanKind.PRODUCER,
      parent: context.active(),
      attributes: { ...messaging("send", group), ...(envelope && { "messaging.message.id": envelope }) },
    });
  });
  stream.subscribe("dispatch:end", ({ span, outcome, attempts }) => {
    const attributes = { "signalbox.attempts": attempts };
    spans.end(span, { outcome, failure: outcome === "delivered" ? undefined : outcome, attributes });
  });
  stream.subscribe("attempt:begin", ({ span, dispatch, group, attempt, consumer, process, crash }) => {
    const attributes = {
      ...messaging("send", group),
      "signalbox.attempt": attempt,
      "signalbox.consumer": consumer,
      "signalbox.process": String(process),
    };
    const parent = spans.contextOf(dispatch) ?? context.active();
    const links = spans.linksTo(crash);
    spans.begin(span, `attempt ${group}`, { kind: SpanKind.PRODUCER, parent, attributes, links });
  });
  stream.subscribe("attempt:end", ({ span, outcome, crash }) => {
    const attributes = crash === undefined ? {} : { "signalbox.crash": crash };
    spans.end(span, { outcome, failure: outcome === "settled" ? undefined : outcome, attributes });
  });
}

function traceLives(stream: TelemetryStream, spans: Spans): void {
  const starting = new Map<Pid, number>();
  stream.subscribe("crash", ({ crash, path, process, reason, cause, message }) => {
    const parent = spans.contextOf(message) ?? context.active();
    const links = spans.linksTo(cause);
    const attributes = {
      "signalbox.crash": crash,
      "signalbox.path": path,
      "signalbox.process": String(process),
      "error.type": reason.type,
    };
    const plan = { kind: SpanKind.INTERNAL, parent, attributes, links };
    spans.crashed(crash, spans.point(`crash ${stream.labelOf(process)}`, plan, formatReason(reason)));
  });
  stream.subscribe("restart", ({ child, path, crash, gaveUp, siblings, delayMs }) => {
    const attributes = {
      "signalbox.path": path,
      "signalbox.siblings": [...siblings],
      "signalbox.delay_ms": delayMs,
      "signalbox.gave_up": gaveUp,
    };
    const plan = { kind: SpanKind.INTERNAL, parent: ROOT_CONTEXT, attributes, links: spans.linksTo(crash) };
    spans.point(`restart ${child}`, plan, gaveUp ? "gave up" : undefined);
  });
  const parentOf = ({ supervisor, crash }: TelemetryEvents["start:begin"]): Context => {
    if (crash !== undefined) return ROOT_CONTEXT;
    const above = supervisor === undefined ? undefined : starting.get(supervisor);
    return spans.contextOf(above) ?? context.active();
  };
  stream.subscribe("start:begin", (event) => {
    const { span, process, path, crash } = event;
    const attributes = { "signalbox.path": path, "signalbox.process": String(process) };
    const links = spans.linksTo(crash);
    const plan = { kind: SpanKind.INTERNAL, parent: parentOf(event), attributes, links };
    spans.begin(span, `start ${stream.labelOf(process)}`, plan);
    starting.set(process, span);
  });
  stream.subscribe("start:end", ({ span, process, outcome }) => {
    starting.delete(process);
    spans.end(span, { outcome, failure: outcome === "failed" ? outcome : undefined });
  });
}

/** A flow is like a message to the host that takes it: its start sends, and its steps process. An execution of a pipeline is another. */
function traceFlows(stream: TelemetryStream, spans: Spans): void {
  const started = (span: number, kind: string, name: string, id: string, follows?: string): void => {
    const before = follows === undefined ? undefined : spanKept(follows);
    const attributes = { ...messaging("send", name), "messaging.message.id": id };
    const links = before === undefined ? [] : [{ context: before }];
    const parent = context.active();
    spans.begin(span, `${kind} ${name}`, { kind: SpanKind.PRODUCER, parent, attributes, links });
    spans.end(span, {});
  };
  stream.subscribe("flow:start", ({ span, flow, id, follows }) => started(span, "flow", flow, id, follows));
  stream.subscribe("pipeline:start", ({ span, pipeline, execution, follows }) =>
    started(span, "pipeline", pipeline, execution, follows),
  );
  stream.subscribe("route:begin", ({ span, pipeline, execution, route, message, messages, attempt }) => {
    const attributes = {
      ...messaging("process", pipeline),
      "messaging.message.id": message,
      ...(messages > 1 && { "messaging.batch.message_count": messages }),
      "signalbox.execution": execution,
      "signalbox.route": route,
      "signalbox.attempt": attempt,
    };
    const plan = { kind: SpanKind.CONSUMER, parent: context.active(), attributes };
    spans.begin(span, nameOf(pipeline, route), plan);
  });
  stream.subscribe("route:end", ({ span, outcome }) => {
    spans.end(span, { outcome, failure: outcome === "passed" ? undefined : outcome, isOver: true });
  });
  stream.subscribe("flow:step:begin", ({ span, flow, id, kind, key }) => {
    const about = { "messaging.message.id": id, "signalbox.step": key };
    const attributes = { ...messaging("process", flow), ...about };
    spans.begin(span, `${kind} ${flow}`, { kind: SpanKind.CONSUMER, parent: context.active(), attributes });
  });
  stream.subscribe("flow:step", ({ span, outcome }) => {
    spans.end(span, { outcome, failure: outcome === "done" ? undefined : outcome, isOver: true });
  });
}

function traceQueues(stream: TelemetryStream, spans: Spans): void {
  stream.subscribe("queue:publish", ({ span, queue }) => {
    const plan = { kind: SpanKind.PRODUCER, parent: context.active(), attributes: messaging("send", queue) };
    spans.begin(span, `publish ${queue}`, plan);
    spans.end(span, {});
  });
  stream.subscribe("queue:begin", ({ span, queue, message, attempt }) => {
    const about = { "messaging.message.id": message, "signalbox.attempt": attempt };
    const attributes = { ...messaging("process", queue), ...about };
    spans.begin(span, `process ${queue}`, { kind: SpanKind.CONSUMER, parent: context.active(), attributes });
  });
  stream.subscribe("queue:end", ({ span, outcome }) => {
    spans.end(span, { outcome, failure: outcome === "done" ? undefined : outcome, isOver: true });
  });
}

function nameOf(label: string, method: string): string {
  return `${label}/${method}`;
}

function messaging(operation: "send" | "process", destination: string): Record<string, string> {
  return {
    "messaging.system": SYSTEM,
    "messaging.operation.type": operation,
    "messaging.destination.name": destination,
  };
}
