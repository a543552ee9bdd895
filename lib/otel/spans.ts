// The spans that are open, and the contexts of those that others may still follow from. Both are bounded.

import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";

/** What a span is made of. */
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

/** Ended spans and crashes that are remembered, because a message or a restart may still follow from them. */
export const REMEMBERED = 10_000;

export class Spans {
  readonly #tracer: Tracer;
  readonly #open = new Map<number, Open>();
  readonly #ended = new Map<number, Context>();
  readonly #crashes = new Map<string, SpanContext>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  begin(number: number, name: string, { kind, parent, attributes, links = [] }: SpanPlan): Span {
    const span = this.#tracer.startSpan(name, { kind, attributes, links: [...links] }, parent);
    this.#open.set(number, { span, context: trace.setSpan(parent, span) });
    return span;
  }

  /** @param failure - why what the span is about did not succeed: bounded words, and a text */
  end(
    number: number,
    attributes: Attributes,
    failure?: { readonly type: string; readonly text?: string },
  ): void {
    const open = this.#open.get(number);
    if (open === undefined) return;
    this.#open.delete(number);
    const { span, context } = open;
    span.setAttributes(attributes);
    if (failure !== undefined) {
      span.setAttribute("error.type", failure.type);
      span.setStatus({ code: SpanStatusCode.ERROR, message: failure.text ?? failure.type });
    }
    span.end();
    remember(this.#ended, number, context);
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
    const { kind, parent, attributes, links = [] } = plan;
    const span = this.#tracer.startSpan(name, { kind, attributes, links: [...links] }, parent);
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

function remember<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value as K);
}
