// From events to the spans that are kept. lib/otel does the same for a tracer of OpenTelemetry, with its names; here the names are for people.

import type { KeptSpan } from "../../admin/traces/span-ring.js";
import type { Pid } from "../../process/pid.js";
import { formatReason } from "../../process/reason.js";
import { type KeptPlace, type Parent, ROOT } from "./refused.js";
import type { BookEnd, SpanBook } from "./span-book.js";
import type { SpanListeners } from "./tracing.js";

/** Crashes that a restart may still follow from. */
const CRASHES = 1_000;

/** Takes the events of the spans that are kept. */
export function spansOfEvents(book: SpanBook, labelOf: (pid: Pid) => string): SpanListeners {
  return {
    ...ofRequests(book),
    ...ofCalls(book),
    ...ofDispatches(book),
    ...ofCrashes(book, labelOf),
    ...ofFlows(book),
    ...ofPipelines(book),
    ...ofQueues(book),
  };
}

const above = (parent: Parent): KeptPlace | undefined => (parent === ROOT ? undefined : parent);

const text = ({ node, id }: Pid<never>): string => `${node.name}.${id}`;

const NO_LENGTH: BookEnd = { tookMs: 0, error: undefined };

const failedUnless = (good: string, outcome: string): string | undefined =>
  outcome === good ? undefined : outcome;

function ofRequests(book: SpanBook): SpanListeners {
  return {
    "http:begin": ({ span, label, method }, parent) =>
      book.begin(span, {
        ...{ name: method, kind: "request", parent: above(parent) },
        attributes: { server: label, method },
      }),
    "http:end": ({ span, method, outcome, status, route, durationMs }) => {
      if (route !== undefined) book.rename(span, `${method} ${route}`);
      const failed = status !== undefined && status >= 500 ? `status ${status}` : undefined;
      book.end(span, { tookMs: durationMs, error: failed, attributes: { outcome, status, route } });
    },
  };
}

function ofCalls(book: SpanBook): SpanListeners {
  return {
    "call:begin": ({ span, from, to, label, method }, parent) =>
      book.begin(span, {
        ...{ name: `${label}/${method ?? "call"}`, kind: "call", parent: above(parent) },
        pid: from && text(from),
        attributes: { to: typeof to === "string" ? to : text(to) },
      }),
    "call:end": ({ span, outcome, durationMs }) =>
      book.end(span, { tookMs: durationMs, error: failedUnless("replied", outcome) }),
    cast: ({ span, from, to, label, method }, parent) => {
      book.begin(span, {
        ...{ name: `${label}/${method}`, kind: "cast", parent: above(parent) },
        pid: from && text(from),
        attributes: { to: typeof to === "string" ? to : text(to) },
      });
      book.end(span, NO_LENGTH);
    },
    "message:begin": ({ span, process, label, kind, name, waitedMs }, parent) => {
      const isDelivery = kind === "delivery";
      book.begin(span, {
        name: isDelivery || name === undefined ? label : `${label}/${name}`,
        ...{ kind: "message", parent: above(parent), pid: text(process) },
        attributes: { of: kind, waitedMs, group: isDelivery ? name : undefined },
      });
    },
    "message:end": ({ span, outcome, durationMs }) =>
      book.end(span, { tookMs: durationMs, error: failedUnless("handled", outcome) }),
  };
}

function ofDispatches(book: SpanBook): SpanListeners {
  return {
    "dispatch:begin": ({ span, from, group, envelope }, parent) =>
      book.begin(span, {
        ...{ name: `dispatch ${group}`, kind: "dispatch", parent: above(parent) },
        pid: from && text(from),
        attributes: { group, envelope },
      }),
    "dispatch:end": ({ span, outcome, attempts, durationMs }) =>
      book.end(span, {
        ...{ tookMs: durationMs, error: failedUnless("delivered", outcome) },
        attributes: { attempts },
      }),
    "attempt:begin": ({ span, dispatch, group, attempt, consumer, process, crash }) => {
      const parent = book.placeOf(dispatch);
      // Of very many open spans the oldest are forgotten.
      if (parent === undefined) return;
      book.begin(span, {
        name: attempt === 1 ? `attempt ${group}` : `re-route ${group}`,
        ...{ kind: "attempt", parent, pid: text(process) },
        attributes: { attempt, consumer, crash },
      });
    },
    "attempt:end": ({ span, outcome, crash, durationMs }) =>
      book.end(span, {
        ...{ tookMs: durationMs, error: failedUnless("settled", outcome) },
        attributes: { endedBy: crash },
      }),
  };
}

/** A crash follows from the message that its process handled, and the restart follows from the crash. */
function ofCrashes(book: SpanBook, labelOf: (pid: Pid) => string): SpanListeners {
  const crashes = new Map<string, KeptSpan>();
  const noted = (crash: string, span: KeptSpan | undefined): void => {
    if (span === undefined) return;
    crashes.set(crash, span);
    if (crashes.size > CRASHES) crashes.delete(crashes.keys().next().value as string);
  };
  return {
    crash: ({ crash, path, process, reason, cause, message }) => {
      const parent = book.placeOf(message) ?? crashes.get(cause ?? "");
      const name = `crash ${labelOf(process)}`;
      const attributes = { path, reason: reason.type };
      const draft = { name, kind: "other", parent, pid: text(process), attributes } as const;
      noted(crash, book.point(draft, formatReason(reason)));
    },
    restart: ({ child, path, crash, gaveUp, siblings, delayMs, supervisor }) => {
      const parent = crashes.get(crash ?? "");
      const attributes = { path, delayMs, siblings: siblings.length, gaveUp };
      const pid = text(supervisor);
      const draft = { name: `restart ${child}`, kind: "other", parent, pid, attributes } as const;
      book.point(draft, gaveUp ? "gave up" : undefined);
    },
  };
}

function ofFlows(book: SpanBook): SpanListeners {
  return {
    "flow:start": ({ span, flow, id }, parent) => {
      const attributes = { flow, id };
      book.begin(span, { name: `flow ${flow}`, kind: "flow", parent: above(parent), attributes });
      book.end(span, NO_LENGTH);
    },
    "flow:step:begin": ({ span, flow, id, kind, key }, parent) => {
      const attributes = { flow, id, request: kind, key };
      book.begin(span, { name: `${kind} ${key}`, kind: "step", parent: above(parent), attributes });
    },
    "flow:step": ({ span, outcome, durationMs }) =>
      book.end(span, { tookMs: durationMs, error: failedUnless("done", outcome), isOver: true }),
  };
}

function ofPipelines(book: SpanBook): SpanListeners {
  return {
    "pipeline:start": ({ span, pipeline, execution }, parent) => {
      const attributes = { pipeline, execution };
      const name = `pipeline ${pipeline}`;
      book.begin(span, { name, kind: "execution", parent: above(parent), attributes });
      book.end(span, NO_LENGTH);
    },
    "route:begin": ({ span, pipeline, execution, route, message, messages, attempt }, parent) => {
      const attributes = { pipeline, execution, message, messages, attempt };
      book.begin(span, { name: `route ${route}`, kind: "route", parent: above(parent), attributes });
    },
    "route:end": ({ span, outcome, durationMs }) =>
      book.end(span, { tookMs: durationMs, error: failedUnless("passed", outcome), isOver: true }),
  };
}

function ofQueues(book: SpanBook): SpanListeners {
  return {
    "queue:publish": ({ span, queue }, parent) => {
      const attributes = { queue };
      book.begin(span, { name: `publish ${queue}`, kind: "queue", parent: above(parent), attributes });
      book.end(span, NO_LENGTH);
    },
    "queue:begin": ({ span, queue, message, attempt }, parent) => {
      const attributes = { queue, message, attempt };
      book.begin(span, { name: `handle ${queue}`, kind: "queue", parent: above(parent), attributes });
    },
    "queue:end": ({ span, outcome, durationMs }) =>
      book.end(span, { tookMs: durationMs, error: failedUnless("done", outcome), isOver: true }),
  };
}
