// What a node answers another one that asks for its spans, and how the other one reads the answer. Both ends bound it: the node that answers, so
// that a long trace does not fill the session, and the one that reads, since the answer may come from another release.

import type { Kernel } from "../../process/kernel.js";
import { cut } from "../../process/show.js";
import { RING_LIMITS } from "./span-limits.js";
import { lookedAtSpans } from "./span-source.js";
import type { NodeTrace, SpanKind, SpanRecord } from "./trace-operations.js";

/** The bounds of an answer. */
export const ANSWER_LIMITS = {
  /** Spans of a trace. */
  spans: 2_000,
  /** Characters of these spans as JSON, about. */
  size: 500_000,
  /** Traces of a list. */
  traces: 500,
  /** Characters of an id. */
  id: 128,
} as const;

/** What another node keeps of a trace. */
export interface AnsweredSpans {
  readonly spans: readonly SpanRecord[];
  readonly dropped: number;
  /** Spans that it keeps, and that had no room in the answer. */
  readonly leftOut: number;
}

/** The node has neither an observer nor telemetry. */
export const KEEPS_NONE: unique symbol = Symbol("keeps none");

/**
 * Answers a question of another node, of any form. Asking is a look: the spans of this node are kept for a while from now on, so that the
 * trace of a message that comes later has its part here. Undefined: this release does not know the question.
 */
export async function nodeAnswer(kernel: Kernel, question: unknown): Promise<object | undefined> {
  const { type, trace, limit, find } = (question ?? {}) as Readonly<Record<string, unknown>>;
  if (type === "spans" && typeof trace === "string") {
    const source = await lookedAtSpans(kernel);
    if (source === undefined) return { kept: false };
    const { spans, dropped } = source.spans(trace);
    const sent = fitting(spans.map(plain));
    return { kept: true, spans: sent, dropped, leftOut: spans.length - sent.length };
  }
  if (type === "traces" && isCount(limit) && (find === undefined || typeof find === "string")) {
    const source = await lookedAtSpans(kernel);
    if (source === undefined) return { kept: false };
    const most = Math.max(1, Math.min(limit, ANSWER_LIMITS.traces));
    return {
      kept: true,
      traces: source.traces({ limit: most, ...(find !== undefined && { find }) }).map(plain),
    };
  }
  return undefined;
}

/** The first spans that fit into an answer: in the order of a tree, these are the ones above. */
function fitting(spans: readonly object[]): readonly object[] {
  let left: number = ANSWER_LIMITS.size;
  const end = spans.findIndex((span, i) => {
    left -= JSON.stringify(span).length;
    return i >= ANSWER_LIMITS.spans || left < 0;
  });
  return end < 0 ? spans : spans.slice(0, end);
}

/** Without members that are undefined: what is plain JSON goes to the other node by the fastest way. */
function plain(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** The spans of an answer. Undefined: it is none that this release understands. */
export function spansIn(answer: unknown, node: string): AnsweredSpans | typeof KEEPS_NONE | undefined {
  const { kept, spans, dropped, leftOut } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (kept === false) return KEEPS_NONE;
  if (kept !== true || !Array.isArray(spans) || !isCount(dropped) || !isCount(leftOut)) return undefined;
  const read = spans.slice(0, ANSWER_LIMITS.spans).map((span) => spanIn(span, node));
  const understood = read.filter((span) => span !== undefined);
  return { spans: understood, dropped, leftOut: leftOut + spans.length - understood.length };
}

/** The traces of an answer. Undefined: it has none. */
export function tracesIn(answer: unknown): readonly NodeTrace[] | undefined {
  const { kept, traces } = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (kept !== true || !Array.isArray(traces)) return undefined;
  return traces
    .slice(0, ANSWER_LIMITS.traces)
    .map(traceIn)
    .filter((trace) => trace !== undefined);
}

function spanIn(value: unknown, node: string): SpanRecord | undefined {
  const { id, parent, name, kind, at, tookMs, status, pid, attributes, error } = (value ?? {}) as Readonly<
    Record<string, unknown>
  >;
  if (!isId(id) || typeof name !== "string" || !isNumber(at) || !isStatus(status)) return undefined;
  return {
    id,
    parent: isId(parent) ? parent : undefined,
    name: cut(name, RING_LIMITS.text),
    kind: isKind(kind) ? kind : "other",
    at,
    tookMs: isNumber(tookMs) ? tookMs : undefined,
    status,
    // The session says which node it is.
    node,
    pid: textIn(pid),
    attributes: attributesIn(attributes),
    error: textIn(error),
  };
}

function traceIn(value: unknown): NodeTrace | undefined {
  const { trace, name, isBegin, at, tookMs, spans, status } = (value ?? {}) as Readonly<
    Record<string, unknown>
  >;
  if (!isId(trace) || typeof name !== "string" || !isNumber(at) || !isCount(spans) || !isStatus(status))
    return undefined;
  const took = isNumber(tookMs) ? tookMs : undefined;
  return {
    trace,
    name: cut(name, RING_LIMITS.text),
    isBegin: isBegin === true,
    at,
    tookMs: took,
    spans,
    status,
  };
}

function attributesIn(value: unknown): SpanRecord["attributes"] {
  const read: [string, string | number | boolean][] = [];
  if (typeof value !== "object" || value === null) return {};
  for (const [name, one] of Object.entries(value).slice(0, RING_LIMITS.attributes)) {
    const key = cut(name, RING_LIMITS.text);
    if (typeof one === "string") read.push([key, cut(one, RING_LIMITS.text)]);
    else if (typeof one === "boolean" || isNumber(one)) read.push([key, one]);
  }
  return Object.fromEntries(read);
}

const KINDS: Readonly<Record<SpanKind, true>> = {
  ...{ call: true, cast: true, message: true, dispatch: true, attempt: true, flow: true, step: true },
  ...{ execution: true, route: true, queue: true, request: true, other: true },
};

const isKind = (value: unknown): value is SpanKind =>
  typeof value === "string" && Object.hasOwn(KINDS, value);
const isStatus = (value: unknown): value is SpanRecord["status"] =>
  value === "open" || value === "ok" || value === "error";
const isId = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= ANSWER_LIMITS.id;
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const textIn = (value: unknown): string | undefined =>
  typeof value === "string" ? cut(value, RING_LIMITS.text) : undefined;
