// A span as text, in the form of the W3C: it is kept with what is durable, and goes along to other nodes.

const TRACEPARENT = /^00-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(?: |$)/;
const ZEROS = /^0+$/;

/** A span that has a trace and an id. */
export interface SpanIds {
  /** 32 hexadecimal digits. */
  readonly trace: string;
  /** 16 hexadecimal digits. */
  readonly id: string;
}

export function toTraceparent({ trace, id }: SpanIds): string {
  return `00-${trace}-${id}-01`;
}

/** The span that a text names. It may come from another program and be anything. */
export function fromTraceparent(text: string): SpanIds | undefined {
  const [, trace, id] = TRACEPARENT.exec(text) ?? [];
  if (trace === undefined || id === undefined || ZEROS.test(trace) || ZEROS.test(id)) return undefined;
  return { trace, id };
}
