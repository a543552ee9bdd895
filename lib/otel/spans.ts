// The spans that are open, and the contexts of those that others may still follow from. Both are bounded.

import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";

/** The parts of a span. */
export interface SpanPlan {
  readonly kind: SpanKind;
  readonly parent: Context;
  readonly attributes: Attributes;
  readonly links?: readonly Link[];
}

interface Open {
  readonly span: Span;
  readonly context: Context;
}

/** How a span ends. */
export interface SpanEnding {
  /** The outcome that telemetry reports, one of a bounded number of words. */
  readonly outcome?: string;
  /** Why what the span is about has failed, in a bounded number of words. */
  readonly failure?: string | undefined;
  /** Further attributes at its end. */
  readonly attributes?: Attributes;
  /** Nothing can follow from it any more: its context is let go of. */
  readonly isOver?: boolean;
}

/** Ended spans and crashes that are remembered, because a message or a restart may still follow from them. A power of two. */
export const REMEMBERED = 16_384;

export class Spans {
  readonly #tracer: Tracer;
  readonly #made: (number: number, span: SpanContext, parent: SpanContext | undefined) => void;
  readonly #open = new Map<number, Open>();
  readonly #ended = new Recent<Context>();
  readonly #crashes = new Map<string, SpanContext>();

  /** @param made - notified of each span with a number */
  constructor(
    tracer: Tracer,
    made: (number: number, span: SpanContext, parent: SpanContext | undefined) => void,
  ) {
    this.#tracer = tracer;
    this.#made = made;
  }

  begin(number: number, name: string, plan: SpanPlan): Span {
    const { parent } = plan;
    const span = this.#tracer.startSpan(name, optionsOf(plan), parent);
    this.#open.set(number, { span, context: trace.setSpan(parent, span) });
    this.#made(number, span.spanContext(), trace.getSpanContext(parent));
    return span;
  }

  end(number: number, { outcome, failure, attributes, isOver }: SpanEnding): void {
    const open = this.#open.get(number);
    if (open === undefined) return;
    this.#open.delete(number);
    const { span, context } = open;
    if (attributes !== undefined) span.setAttributes(attributes);
    if (outcome !== undefined) span.setAttribute("signalbox.outcome", outcome);
    if (failure !== undefined) fail(span, failure);
    span.end();
    if (isOver !== true) this.#ended.add(number, context);
  }

  /** A span of another node gets a number here. */
  adopt(number: number, span: SpanContext): void {
    this.#ended.add(number, within(span));
  }

  rename(number: number, name: string): void {
    this.#open.get(number)?.span.updateName(name);
  }

  /** The context of a span that is open, or has ended of late. */
  contextOf(number: number | undefined): Context | undefined {
    if (number === undefined) return undefined;
    return this.#open.get(number)?.context ?? this.#ended.get(number);
  }

  /** A span without length. */
  point(name: string, plan: SpanPlan, failure?: string): SpanContext {
    const span = this.#tracer.startSpan(name, optionsOf(plan), plan.parent);
    if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    span.end();
    return span.spanContext();
  }

  crashed(crash: string, context: SpanContext): void {
    remember(this.#crashes, crash, context);
  }

  /** A link to a crash, if its span is known. */
  linksTo(crash: string | undefined): readonly Link[] {
    const context = crash === undefined ? undefined : this.#crashes.get(crash);
    return context === undefined ? [] : [{ context, attributes: { "signalbox.crash": crash as string } }];
  }

  /** Ends what is still open. */
  close(): void {
    for (const number of [...this.#open.keys()]) this.end(number, {});
  }
}

/** The context of a span, as a parent of others. */
export function within(context: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, context);
}

function optionsOf({ kind, attributes, links }: SpanPlan): SpanOptions {
  return links === undefined || links.length === 0
    ? { kind, attributes }
    : { kind, attributes, links: [...links] };
}

function fail(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, message: type });
}

/**
 * The most recent values, by number. To take the first entry of a Map, the engine walks over all entries that were taken before, until the Map
 * is rebuilt; here each number has its place.
 */
class Recent<V> {
  readonly #numbers = new Float64Array(REMEMBERED);
  readonly #values: (V | undefined)[] = new Array(REMEMBERED).fill(undefined);

  add(number: number, value: V): void {
    const place = number & (REMEMBERED - 1);
    this.#numbers[place] = number;
    this.#values[place] = value;
  }

  get(number: number): V | undefined {
    const place = number & (REMEMBERED - 1);
    return this.#numbers[place] === number ? this.#values[place] : undefined;
  }
}

function remember<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value as K);
}
