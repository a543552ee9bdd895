// From events to the spans that are kept. lib/otel does the same for a tracer of OpenTelemetry, with its names; here the names are for people.

import type { KeptSpan } from "../../admin/traces/span-ring.js";
import type { Pid } from "../../process/pid.js";
import { formatReason } from "../../process/reason.js";
import { asObserved } from "./observed-process.js";
import type { BookEnd, Place, SpanBook } from "./span-book.js";
import type { TelemetryStream } from "./telemetry.js";

/** Crashes that a restart may still follow from. */
const CRASHES = 1_000;

/** What the spans of a system are made with. */
interface Keeping {
  readonly stream: TelemetryStream;
  readonly book: SpanBook;
  /** The place of the code that runs. */
  here(): Place | undefined;
  labelOf(pid: Pid): string;
}

/** Keeps the spans of a stream, as long as it is open. */
export function keepSpansOf(
  stream: TelemetryStream,
  book: SpanBook,
  here: () => Place | undefined,
  labelOf: (pid: Pid) => string,
): void {
  const keeping: Keeping = { stream, book, here, labelOf };
  keepRequests(keeping);
  keepCalls(keeping);
  keepMessages(keeping);
  keepDispatches(keeping);
  keepCrashes(keeping);
  keepFlows(keeping);
  keepPipelines(keeping);
  keepQueues(keeping);
}

/**
 * What the work of a process follows from. A body runs in the context in which it began, so the message that it took is asked first; callbacks
 * run in the context of their message, or of something in it.
 */
function placeOf({ book, here }: Keeping, from: Pid | undefined): Place | undefined {
  const seen = from?.process === undefined ? undefined : asObserved(from.process);
  const handled = book.placeOf(seen?.handling?.number);
  return seen?.handle === undefined ? (handled ?? here()) : (here() ?? handled);
}

const text = ({ node, id }: Pid<never>): string => `${node.name}.${id}`;

const NO_LENGTH: BookEnd = { tookMs: 0, error: undefined };

const failedUnless = (good: string, outcome: string): string | undefined =>
  outcome === good ? undefined : outcome;

function keepRequests({ stream, book, here }: Keeping): void {
  stream.subscribe("http:begin", ({ span, label, method }) => {
    book.begin(span, {
      name: method,
      kind: "request",
      parent: here(),
      isRoot: true,
      attributes: { server: label, method },
    });
  });
  stream.subscribe("http:end", ({ span, method, outcome, status, route, durationMs }) => {
    if (route !== undefined) book.rename(span, `${method} ${route}`);
    const failed = status !== undefined && status >= 500 ? `status ${status}` : undefined;
    book.end(span, { tookMs: durationMs, error: failed, attributes: { outcome, status, route } });
  });
}

function keepCalls(keeping: Keeping): void {
  const { stream, book } = keeping;
  stream.subscribe("call:begin", ({ span, from, to, label, method }) => {
    book.begin(span, {
      name: `${label}/${method ?? "call"}`,
      kind: "call",
      parent: placeOf(keeping, from),
      isRoot: true,
      pid: from && text(from),
      attributes: { to: typeof to === "string" ? to : text(to) },
    });
  });
  stream.subscribe("call:end", ({ span, outcome, durationMs }) =>
    book.end(span, { tookMs: durationMs, error: failedUnless("replied", outcome) }),
  );
  stream.subscribe("cast", ({ span, from, to, label, method }) => {
    book.begin(span, {
      name: `${label}/${method}`,
      kind: "cast",
      parent: placeOf(keeping, from),
      isRoot: true,
      pid: from && text(from),
      attributes: { to: typeof to === "string" ? to : text(to) },
    });
    book.end(span, NO_LENGTH);
  });
}

function keepMessages({ stream, book, here }: Keeping): void {
  stream.subscribe("message:begin", ({ span, process, label, kind, name, cause, waitedMs }) => {
    const isDelivery = kind === "delivery";
    book.begin(span, {
      name: isDelivery || name === undefined ? label : `${label}/${name}`,
      kind: "message",
      parent: cause === undefined ? here() : book.placeOf(cause),
      // A plain message that follows from nothing that is known leads nowhere: the work that it starts begins the trace.
      isRoot: false,
      pid: text(process),
      attributes: { of: kind, waitedMs, group: isDelivery ? name : undefined },
    });
  });
  stream.subscribe("message:end", ({ span, outcome, durationMs }) =>
    book.end(span, { tookMs: durationMs, error: failedUnless("handled", outcome) }),
  );
}

function keepDispatches(keeping: Keeping): void {
  const { stream, book } = keeping;
  stream.subscribe("dispatch:begin", ({ span, from, group, envelope }) => {
    book.begin(span, {
      name: `dispatch ${group}`,
      kind: "dispatch",
      parent: placeOf(keeping, from),
      isRoot: true,
      pid: from && text(from),
      attributes: { group, envelope },
    });
  });
  stream.subscribe("dispatch:end", ({ span, outcome, attempts, durationMs }) => {
    book.end(span, {
      tookMs: durationMs,
      error: failedUnless("delivered", outcome),
      attributes: { attempts },
    });
  });
  stream.subscribe("attempt:begin", ({ span, dispatch, group, attempt, consumer, process, crash }) => {
    book.begin(span, {
      name: attempt === 1 ? `attempt ${group}` : `re-route ${group}`,
      kind: "attempt",
      parent: book.placeOf(dispatch),
      isRoot: false,
      pid: text(process),
      attributes: { attempt, consumer, crash },
    });
  });
  stream.subscribe("attempt:end", ({ span, outcome, crash, durationMs }) => {
    book.end(span, {
      tookMs: durationMs,
      error: failedUnless("settled", outcome),
      attributes: { endedBy: crash },
    });
  });
}

/** A crash follows from the message that its process handled, and the restart follows from the crash. */
function keepCrashes({ stream, book, labelOf }: Keeping): void {
  const crashes = new Map<string, KeptSpan>();
  const noted = (crash: string, span: KeptSpan | undefined): void => {
    if (span === undefined) return;
    crashes.set(crash, span);
    if (crashes.size > CRASHES) crashes.delete(crashes.keys().next().value as string);
  };
  stream.subscribe("crash", ({ crash, path, process, reason, cause, message }) => {
    const parent = book.placeOf(message) ?? crashes.get(cause ?? "");
    const name = `crash ${labelOf(process)}`;
    const attributes = { path, reason: reason.type };
    const draft = { name, kind: "other", parent, isRoot: false, pid: text(process), attributes } as const;
    noted(crash, book.point(draft, formatReason(reason)));
  });
  stream.subscribe("restart", ({ child, path, crash, gaveUp, siblings, delayMs, supervisor }) => {
    const parent = crashes.get(crash ?? "");
    const attributes = { path, delayMs, siblings: siblings.length, gaveUp };
    const pid = text(supervisor);
    const draft = {
      name: `restart ${child}`,
      kind: "other",
      parent,
      isRoot: false,
      pid,
      attributes,
    } as const;
    book.point(draft, gaveUp ? "gave up" : undefined);
  });
}

function keepFlows({ stream, book, here }: Keeping): void {
  stream.subscribe("flow:start", ({ span, flow, id }) => {
    const attributes = { flow, id };
    book.begin(span, { name: `flow ${flow}`, kind: "flow", parent: here(), isRoot: true, attributes });
    book.end(span, NO_LENGTH);
  });
  stream.subscribe("flow:step:begin", ({ span, flow, id, kind, key }) => {
    const attributes = { flow, id, request: kind, key };
    book.begin(span, { name: `${kind} ${key}`, kind: "step", parent: here(), isRoot: true, attributes });
  });
  stream.subscribe("flow:step", ({ span, outcome, durationMs }) => {
    book.end(span, { tookMs: durationMs, error: failedUnless("done", outcome), isOver: true });
  });
}

function keepPipelines({ stream, book, here }: Keeping): void {
  stream.subscribe("pipeline:start", ({ span, pipeline, execution }) => {
    const attributes = { pipeline, execution };
    book.begin(span, {
      name: `pipeline ${pipeline}`,
      kind: "execution",
      parent: here(),
      isRoot: true,
      attributes,
    });
    book.end(span, NO_LENGTH);
  });
  stream.subscribe("route:begin", ({ span, pipeline, execution, route, message, messages, attempt }) => {
    const attributes = { pipeline, execution, message, messages, attempt };
    book.begin(span, { name: `route ${route}`, kind: "route", parent: here(), isRoot: true, attributes });
  });
  stream.subscribe("route:end", ({ span, outcome, durationMs }) => {
    book.end(span, { tookMs: durationMs, error: failedUnless("passed", outcome), isOver: true });
  });
}

function keepQueues({ stream, book, here }: Keeping): void {
  stream.subscribe("queue:publish", ({ span, queue }) => {
    const attributes = { queue };
    book.begin(span, { name: `publish ${queue}`, kind: "queue", parent: here(), isRoot: true, attributes });
    book.end(span, NO_LENGTH);
  });
  stream.subscribe("queue:begin", ({ span, queue, message, attempt }) => {
    const attributes = { queue, message, attempt };
    book.begin(span, { name: `handle ${queue}`, kind: "queue", parent: here(), isRoot: true, attributes });
  });
  stream.subscribe("queue:end", ({ span, outcome, durationMs }) => {
    book.end(span, { tookMs: durationMs, error: failedUnless("done", outcome), isOver: true });
  });
}
