// Who traces a system: what the recorder needs of them.

import type { Carrier } from "../../process/taps.js";
import type { JobTrace, ReceivedHeaders } from "./edges.js";
import type { TracedIds } from "./span-book.js";

/** Carries the trace context across the edges of the system, for the code that makes spans of the events. */
export interface Tracing {
  /** Runs a handler in the context of its span. It has to call `run` once. */
  around<R>(span: number, run: () => R): R;
  /** Runs `run` in the context that the headers of a request from outside name. */
  received(headers: ReceivedHeaders, run: () => void): void;
  /** The headers that name the context of the running code. */
  sent(): Carrier;
  /** The same for a thread of a pool. */
  job(): JobTrace | undefined;
  /** The span of the running code, as text that is kept with something durable. Undefined: it is in none. */
  kept(): string | undefined;
  /** Runs code in a span that was kept. Null: in none. */
  continuing<R>(kept: string | null, run: () => R): R;
  /** From now on the number stands for a span of another node, if the text names one. */
  elsewhere(span: number, kept: string): void;
}

/** Keeps the spans of a system beside the tracer of the user. */
export interface SpanWatch {
  readonly tracing: Tracing;
  /** The tracer of the user has made a span of this number. */
  traced(span: number, ids: TracedIds): void;
}
