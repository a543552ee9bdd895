// The way of one message: the spans of a trace as rows of a tree with bars, and the hops from node to node. Pure.

import type { SpanRecord } from "../../../admin/traces/trace-operations.js";
import { rowsText, type TextColumn } from "./table.js";
import { spanOf, type TimeSpan } from "./timeline.js";

export interface WayRow {
  readonly span: SpanRecord;
  readonly depth: number;
  readonly bar: TimeSpan;
  /** Milliseconds since the trace began. */
  readonly afterMs: number;
  /** The node that it came from, when the span it follows is on another one. */
  readonly hopFrom: string | undefined;
  /** The span before it was an attempt at another consumer: the message was re-routed. */
  readonly rerouted: boolean;
  /** The span that it follows is not in the trace: it was dropped, or belongs to a node whose spans are missing. */
  readonly orphan: boolean;
}

/** How often the message went from one node to another one. */
export interface WayHop {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

export interface MessageWay {
  readonly rows: readonly WayRow[];
  /** In the order in which they are first seen. */
  readonly hops: readonly WayHop[];
  readonly from: number;
  readonly to: number;
  readonly nodes: readonly string[];
  readonly failures: number;
  /** Spans that have not ended. */
  readonly open: number;
}

/** How far spans that are open reach beyond the last end, as a share: on a scale until now, the others could not be seen. */
const OPEN_SHARE = 0.25;

/** @param now - wall time of the service */
export function wayOf(spans: readonly SpanRecord[], now: number): MessageWay {
  const sorted = [...spans].sort((a, b) => a.at - b.at);
  const from = sorted[0]?.at ?? now;
  const open = sorted.filter(({ status }) => status === "open").length;
  const last = Math.max(from + 1, ...sorted.map(({ at, tookMs = 0 }) => at + tookMs));
  const to = open === 0 ? last : Math.min(Math.max(now, last), last + (last - from) * OPEN_SHARE);
  const known = new Map(sorted.map((span) => [span.id, span]));
  const children = new Map<string, SpanRecord[]>();
  const roots: SpanRecord[] = [];
  for (const span of sorted) {
    const siblings =
      span.parent === undefined || !known.has(span.parent) ? roots : listIn(children, span.parent);
    siblings.push(span);
  }
  const rows: WayRow[] = [];
  const seen = new Set<string>();
  // A list instead of a recursion: a trace may be thousands of spans deep.
  const visit = (siblings: readonly SpanRecord[]): void => {
    const left: WayPlace[] = placesOf(siblings, 0);
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { span, depth, before } = next;
      // Ids come from other services, too: a circle must not hang the page.
      if (seen.has(span.id)) continue;
      seen.add(span.id);
      const parent = span.parent === undefined ? undefined : known.get(span.parent);
      rows.push({
        span,
        depth,
        bar: spanOf(from, to, span.at, endOf(span, to)),
        afterMs: span.at - from,
        hopFrom: parent !== undefined && parent.node !== span.node ? parent.node : undefined,
        rerouted: span.kind === "attempt" && before?.kind === "attempt",
        orphan: span.parent !== undefined && parent === undefined,
      });
      left.push(...placesOf(children.get(span.id) ?? [], depth + 1));
    }
  };
  visit(roots);
  // Spans that name each other in a circle hang below no root.
  visit(sorted);
  return {
    rows,
    hops: hopsOf(rows),
    from,
    to,
    nodes: [...new Set(sorted.map(({ node }) => node))],
    failures: sorted.filter(({ status }) => status === "error").length,
    open,
  };
}

/** A span that has no row yet. */
interface WayPlace {
  readonly span: SpanRecord;
  readonly depth: number;
  readonly before: SpanRecord | undefined;
}

/** The last of them first, as they are taken from the end. */
function placesOf(siblings: readonly SpanRecord[], depth: number): WayPlace[] {
  return siblings.map((span, i) => ({ span, depth, before: siblings[i - 1] })).reverse();
}

function hopsOf(rows: readonly WayRow[]): readonly WayHop[] {
  const hops = new Map<string, WayHop>();
  for (const { hopFrom: from, span } of rows) {
    if (from === undefined) continue;
    const key = JSON.stringify([from, span.node]);
    hops.set(key, { from, to: span.node, count: (hops.get(key)?.count ?? 0) + 1 });
  }
  return [...hops.values()];
}

const TEXT: readonly TextColumn<WayRow>[] = [
  { title: "depth", value: ({ depth }) => depth },
  { title: "span", value: ({ span }) => span.name },
  { title: "kind", value: ({ span }) => span.kind },
  { title: "state", value: ({ span }) => span.status },
  { title: "node", value: ({ span }) => span.node },
  { title: "process", value: ({ span }) => span.pid },
  { title: "after ms", value: ({ afterMs }) => afterMs },
  { title: "took ms", value: ({ span }) => span.tookMs },
  { title: "error", value: ({ span }) => span.error },
];

/** The way as lines for the clipboard. */
export const wayText = (rows: readonly WayRow[]): string => rowsText(TEXT, rows);

const endOf = ({ at, tookMs, status }: SpanRecord, to: number): number =>
  tookMs === undefined ? (status === "open" ? to : at) : at + tookMs;

function listIn<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

/** What a person may look for. */
export type WayQuery =
  | { readonly by: "trace"; readonly trace: string }
  | { readonly by: "pipeline"; readonly execution: string; readonly message: string }
  | { readonly by: "text"; readonly text: string };

/**
 * What a text means: 32 hexadecimal digits are the id of a trace, also inside a `traceparent`; `execution/10.13` is a message of a
 * pipeline; anything else is looked for among flows and traces.
 */
export function queryOf(given: string): WayQuery | undefined {
  const text = given.trim();
  if (text === "") return undefined;
  const [, trace] = /^(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-[0-9a-f]{16}(?:-[0-9a-f]{2})?)?$/i.exec(text) ?? [];
  if (trace !== undefined) return { by: "trace", trace: trace.toLowerCase() };
  const [, execution, message] = /^(.+)[/ ]([1-9ab][0-9a-z]+(?:\.[1-9ab][0-9a-z]+)+)$/.exec(text) ?? [];
  if (execution !== undefined && message !== undefined)
    return { by: "pipeline", execution: execution.trim(), message };
  return { by: "text", text };
}
