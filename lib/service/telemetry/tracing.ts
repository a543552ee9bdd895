// Who traces a system: what the recorder needs of them.

import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { Carrier } from "../../process/taps.js";
import type { JobTrace, ReceivedHeaders } from "./edges.js";
import type { TelemetryEventName, TelemetryEvents } from "./events.js";
import type { Parent, Refusing, Verdict } from "./refused.js";
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

/** Decides which spans are kept, before their events are made. */
export interface SpanDecisions {
  /** A call or a cast. @param by - the process that makes it, if it is known */
  call(
    by: Process | undefined,
    to: Pid<never> | string,
    callee: Process | undefined,
    method: string | undefined,
  ): Verdict;
  /** Other work that may begin a trace. @param by - the process whose work it is, if that is not the one that runs */
  work(by: Process | undefined, name: string): Verdict;
  /** A request from outside follows from nothing here. */
  request(name: string): Verdict;
  /** Work that goes on in a trace that was kept with it. */
  resumed(trace: string | null, name: string): Verdict;
  /** The handling of a message that follows from a span, or from the code that runs. It begins no trace. */
  handling(cause: number | undefined, label: string): Verdict;
  /** Whether a plain message that is sent now follows from something: it does where messages carry the contexts of their senders. */
  message(): "kept" | "refused" | undefined;
}

/** Take the events of spans that are kept, with what the spans follow from. */
export type SpanListeners = {
  readonly [Name in TelemetryEventName]?: (event: TelemetryEvents[Name], parent: Parent) => void;
};

/** Keeps the spans of a system beside the tracer of the user. */
export interface SpanWatch {
  readonly tracing: Tracing;
  readonly gate: SpanDecisions;
  /** Takes the events of those that are. */
  readonly keep: SpanListeners;
  /** Needed where the host does not say which process runs. */
  readonly refusing: Refusing | undefined;
  /** The tracer of the user has made a span of this number. */
  traced(span: number, ids: TracedIds): void;
}
