// The operations on the spans that a system keeps: one message on its way through calls, casts, dispatches, flows and pipelines.

import type { OperationTable } from "../operations/table.js";

/** What a span is about. */
export type SpanKind =
  | "call"
  | "cast"
  | "message"
  | "dispatch"
  | "attempt"
  | "flow"
  | "step"
  | "execution"
  | "route"
  | "queue"
  | "request"
  | "other";

/** A piece of work in a trace. */
export interface SpanRecord {
  /** Unique in its trace. */
  readonly id: string;
  /** The span that it follows from. That one may be of another node, or have been dropped. */
  readonly parent?: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** When it began: milliseconds since 1970. */
  readonly at: number;
  /** Undefined while it is open. */
  readonly tookMs?: number | undefined;
  readonly status: "open" | "ok" | "error";
  /** The name of the node. */
  readonly node: string;
  /** The process that does the work, such as `shop.7`. */
  readonly pid?: string | undefined;
  /** At most 16, with short texts. `folded`: so many spans alike stand in this one, the last of them with its time and its end. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** How it failed. */
  readonly error?: string | undefined;
}

/** What one node keeps of a trace, in a list. */
export interface NodeTrace {
  readonly trace: string;
  /** The name of its first span. */
  readonly name: string;
  /** The trace begins with that span: it follows from none. */
  readonly isBegin: boolean;
  /** When it began: milliseconds since 1970. */
  readonly at: number;
  /** From its begin to the last end. Undefined while a span is open. */
  readonly tookMs?: number | undefined;
  /** Spans that are kept. */
  readonly spans: number;
  readonly status: "open" | "ok" | "error";
}

/** A trace in a list, with what all nodes that answered keep of it. */
export interface TraceSummary extends NodeTrace {
  /** The nodes that keep spans of it. */
  readonly nodes: readonly string[];
}

/** A span in the tree of its trace. */
export interface SpanLine extends SpanRecord {
  /** How many spans it is below. 0: it follows from none that is there. */
  readonly depth: number;
}

/** The spans of one trace that one node keeps. */
export interface NodeSpans {
  readonly trace: string;
  /** Each behind the span that it follows from, those of one parent in the order of their begins. */
  readonly spans: readonly SpanLine[];
  /** Spans that are no longer kept, because newer ones needed their place. */
  readonly dropped: number;
}

/** A node whose spans are not in an answer, or not all of them. */
export interface MissingSpans {
  readonly node: string;
  /** Such as `did not answer within 1000 ms`. */
  readonly why: string;
}

/** The spans of one trace, of all nodes of the cluster that have answered. */
export interface TraceSpans extends NodeSpans {
  /** The node that was asked, as its spans name it. */
  readonly node: string;
  /** The other nodes whose spans of the trace are not all here, at most 130. */
  readonly missing: readonly MissingSpans[];
}

/** Which traces are listed. */
export interface TraceFilter {
  /** Most of them, 1 to 500. Default 50. */
  readonly limit?: number;
  /** Only those with this text in their id, or in a name or an attribute of a span. */
  readonly find?: string;
}

/**
 * Spans are kept from the first of these questions until 30 seconds after the last, and all the time where the program asks for it. A system that
 * has joined a cluster asks the other nodes, too, which keeps their spans as long.
 */
export interface TraceOperations {
  /** The spans of a trace by its id, as one tree. None, when no span of it is kept. @throws OptionError, SpansNotKeptError */
  spans(trace: string): Promise<TraceSpans>;
  /** The latest traces, the newest first. @throws OptionError, SpansNotKeptError */
  traces(options?: TraceFilter): Promise<readonly TraceSummary[]>;
}

/** Their rows in the table of the operations on a system. */
export const TRACE_ROWS: OperationTable<TraceOperations> = {
  spans: { kind: "ask", leave: "look", placed: ["trace"] },
  traces: { kind: "ask", leave: "look", placed: [], options: { limit: true, find: true } },
};
