// The trace that a message or a call takes along to another node.

/** A trace in the form that travels between nodes. */
export interface WireTrace {
  /** The span: `traceparent` of the W3C, and `tracestate` behind a space if there is one. */
  readonly text: string;
  /** The span is that of the call or the cast itself, so its handling is a span below. Otherwise it is the sender's. */
  readonly isOwn: boolean;
}

/** The longest text of a trace, in characters. `tracestate` should have 512. A longer text is dropped, at both ends. */
const LONGEST_TRACE = 1_024;

/** The text of a trace from another node, which may be anything. Undefined when it cannot be one. */
export function traceText(given: unknown): string | undefined {
  return typeof given === "string" && given.length <= LONGEST_TRACE ? given : undefined;
}

/** A signal with the trace that goes with it. */
export function withTrace<S extends object>(signal: S, trace: WireTrace | undefined): S {
  return trace === undefined ? signal : { ...signal, trace };
}
