// The spans that are kept: the latest, in a ring. A new span takes the place of the oldest. Everything has a bound: the spans, their texts and
// attributes, and spans that look alike, which are folded into one.
//
// A data structure without clock and randomness. It is changed in place, since a span may come with every message.

import { cut } from "../../process/show.js";
import { RING_LIMITS, type RingLimits } from "./span-limits.js";
import { treeLines } from "./span-tree.js";
import type { NodeSpans, NodeTrace, SpanKind, SpanRecord, TraceFilter } from "./trace-operations.js";

/** Where a span stands. */
export interface SpanPlace {
  readonly trace: string;
  readonly id: string;
  readonly parent?: string | undefined;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A span that begins. */
export interface BegunSpan extends SpanPlace {
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly pid?: string | undefined;
  readonly attributes: SpanAttributes;
}

/** How a span ends. */
export interface SpanOutcome {
  readonly tookMs: number;
  /** How it failed. Undefined: it did not. */
  readonly error?: string | undefined;
  readonly attributes?: SpanAttributes;
}

/** A span in the ring. Those who hold it may end it after it has left the ring: that changes nothing that is listed. */
export class KeptSpan implements SpanPlace {
  readonly trace: string;
  readonly id: string;
  readonly parent: string | undefined;
  name: string;
  readonly kind: SpanKind;
  readonly at: number;
  readonly pid: string | undefined;
  attributes: Record<string, string | number | boolean>;
  tookMs: number | undefined = undefined;
  error: string | undefined = undefined;
  /** Spans that it stands for and that have not ended. */
  open = 1;
  /** Spans that are folded into it; 0: it is one span. */
  folded = 0;
  /** It has left the ring. */
  isGone = false;
  /** When the last of those that it stands for began. */
  lastAt: number;
  /** What it has in common with those that look alike. */
  readonly key: string;

  constructor(begun: BegunSpan, limits: RingLimits, key: string) {
    this.key = key;
    this.trace = begun.trace;
    this.id = begun.id;
    this.parent = begun.parent;
    this.name = cut(begun.name, limits.text);
    this.kind = begun.kind;
    this.at = begun.at;
    this.lastAt = begun.at;
    this.pid = begun.pid === undefined ? undefined : cut(begun.pid, limits.text);
    this.attributes = bounded({}, begun.attributes, limits);
  }

  get status(): SpanRecord["status"] {
    if (this.error !== undefined) return "error";
    return this.open > 0 ? "open" : "ok";
  }

  record(node: string): SpanRecord {
    const { id, parent, name, kind, at, tookMs, status, pid, attributes, error, folded, open } = this;
    return {
      ...{ id, parent, name, kind, at, status, node, pid, error },
      tookMs: open > 0 ? undefined : tookMs,
      attributes: folded > 0 ? { ...attributes, folded } : { ...attributes },
    };
  }
}

/** Spans of one parent with the same name and kind. */
interface Alike {
  /** Spans in the ring that count for it. */
  count: number;
  fold: KeptSpan | undefined;
}

class Trace {
  readonly id: string;
  readonly name: string;
  readonly isBegin: boolean;
  readonly at: number;
  readonly spans = new Set<KeptSpan>();
  readonly alike = new Map<string, Alike>();
  dropped = 0;
  hasFailed = false;
  open = 0;
  endAt: number;

  constructor(id: string, { name, at, parent }: KeptSpan) {
    this.id = id;
    this.name = name;
    this.isBegin = parent === undefined;
    this.at = at;
    this.endAt = at;
  }

  summary(): NodeTrace {
    const { id, name, isBegin, at, spans, open, hasFailed, endAt } = this;
    return {
      trace: id,
      name,
      isBegin,
      at,
      tookMs: open > 0 ? undefined : endAt - at,
      spans: spans.size,
      status: hasFailed ? "error" : open > 0 ? "open" : "ok",
    };
  }
}

export class SpanRing {
  readonly #limits: RingLimits;
  readonly #slots: (KeptSpan | undefined)[] = [];
  #next = 0;
  /** In the order of their begins. */
  readonly #traces = new Map<string, Trace>();

  constructor(limits: RingLimits = RING_LIMITS) {
    this.#limits = limits;
  }

  /** Spans in the ring. */
  get size(): number {
    let sum = 0;
    for (const { spans } of this.#traces.values()) sum += spans.size;
    return sum;
  }

  has(trace: string): boolean {
    return this.#traces.has(trace);
  }

  /** Keeps a span. The span that it gives stands for it; it may be one that others were folded into, too. */
  begin(begun: BegunSpan): KeptSpan {
    const key = alikeKey(begun, this.#limits);
    const fold = this.#traces.get(begun.trace)?.alike.get(key);
    if (fold !== undefined && fold.count >= this.#limits.alike) return this.#folded(begun, fold, key);
    return this.#keep(new KeptSpan(begun, this.#limits, key));
  }

  /** The span, or one of those that are folded into it, has ended. */
  end(span: KeptSpan, { tookMs, error, attributes }: SpanOutcome): void {
    const trace = span.isGone ? undefined : this.#traces.get(span.trace);
    if (span.open === 0) return;
    span.open--;
    // Of folded spans: from the begin of the first to the end of the last.
    span.tookMs = Math.max(span.tookMs ?? 0, span.lastAt - span.at + tookMs);
    if (error !== undefined) span.error = cut(error, this.#limits.text);
    if (attributes !== undefined) bounded(span.attributes, attributes, this.#limits);
    if (trace === undefined) return;
    trace.open--;
    if (error !== undefined) trace.hasFailed = true;
    trace.endAt = Math.max(trace.endAt, span.at + span.tookMs);
  }

  rename(span: KeptSpan, name: string): void {
    span.name = cut(name, this.#limits.text);
  }

  spans(trace: string, node: string): NodeSpans {
    const found = this.#traces.get(trace);
    const spans = [...(found?.spans ?? [])].map((span) => span.record(node));
    return { trace, spans: treeLines(spans), dropped: found?.dropped ?? 0 };
  }

  /** The latest traces, the newest first. */
  traces({ limit, find }: Required<Pick<TraceFilter, "limit">> & TraceFilter): readonly NodeTrace[] {
    const found: NodeTrace[] = [];
    for (const trace of [...this.#traces.values()].reverse()) {
      if (found.length >= limit) break;
      if (find === undefined || shows(trace, find)) found.push(trace.summary());
    }
    return found;
  }

  #folded(begun: BegunSpan, alike: Alike, key: string): KeptSpan {
    const { fold } = alike;
    if (fold === undefined) {
      const first = this.#keep(new KeptSpan(begun, this.#limits, key));
      first.folded = 1;
      alike.fold = first;
      return first;
    }
    fold.folded++;
    fold.open++;
    fold.lastAt = begun.at;
    fold.attributes = bounded({}, begun.attributes, this.#limits);
    (this.#traces.get(fold.trace) as Trace).open++;
    return fold;
  }

  #keep(span: KeptSpan): KeptSpan {
    const { key } = span;
    this.#drop(this.#slots[this.#next]);
    this.#slots[this.#next] = span;
    this.#next = (this.#next + 1) % this.#limits.spans;
    const trace = this.#traces.get(span.trace) ?? new Trace(span.trace, span);
    this.#traces.set(span.trace, trace);
    trace.spans.add(span);
    trace.open++;
    const alike = trace.alike.get(key) ?? { count: 0, fold: undefined };
    trace.alike.set(key, alike);
    alike.count++;
    return span;
  }

  /** The oldest span leaves the ring. */
  #drop(span: KeptSpan | undefined): void {
    if (span === undefined) return;
    span.isGone = true;
    const trace = this.#traces.get(span.trace) as Trace;
    trace.spans.delete(span);
    trace.open -= span.open;
    trace.dropped += Math.max(1, span.folded);
    const alike = trace.alike.get(span.key);
    if (alike !== undefined) {
      alike.count--;
      if (alike.fold === span) alike.fold = undefined;
      if (alike.count <= 0) trace.alike.delete(span.key);
    }
    if (trace.spans.size === 0) this.#traces.delete(span.trace);
  }
}

function alikeKey(
  { parent, kind, name }: Pick<BegunSpan, "parent" | "kind" | "name">,
  { text }: RingLimits,
): string {
  return `${parent ?? ""} ${kind} ${cut(name, text)}`;
}

/** Adds attributes, with short texts, as long as there is room. */
function bounded(
  into: Record<string, string | number | boolean>,
  added: SpanAttributes,
  { attributes, text }: RingLimits,
): Record<string, string | number | boolean> {
  let left = attributes - Object.keys(into).length;
  for (const [name, value] of Object.entries(added)) {
    if (value === undefined) continue;
    const key = cut(name, text);
    if (!Object.hasOwn(into, key) && left-- <= 0) continue;
    into[key] = typeof value === "string" ? cut(value, text) : value;
  }
  return into;
}

function shows({ id, name, spans }: Trace, find: string): boolean {
  if (id.includes(find) || name.includes(find)) return true;
  for (const span of spans) {
    if (span.name.includes(find) || span.pid?.includes(find) === true) return true;
    for (const value of Object.values(span.attributes)) if (String(value).includes(find)) return true;
  }
  return false;
}
