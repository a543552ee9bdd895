// The parts of a trace that several nodes keep, as one tree. Pure, and the same whatever the order in which the nodes have answered.

import type { RemoteNode } from "../../process/pid.js";
import { RING_LIMITS } from "./span-limits.js";
import { treeLines } from "./span-tree.js";
import type { MissingSpans, NodeTrace, SpanRecord, TraceSpans, TraceSummary } from "./trace-operations.js";

/** What one node keeps of a trace. */
export interface TracePart {
  readonly node: RemoteNode;
  readonly spans: readonly SpanRecord[];
  readonly dropped: number;
}

/** What one node keeps of the latest traces. */
export interface TracesPart {
  readonly node: RemoteNode;
  readonly traces: readonly NodeTrace[];
}

/** A node whose spans are not all there. */
export interface MissingPart {
  readonly node: RemoteNode;
  readonly why: string;
}

/** Most spans of a tree. */
export const JOINED_SPANS: number = RING_LIMITS.spans;

/**
 * The spans of all parts as one tree. A span that several nodes know is there once: as one of them knows that it has ended, if one does.
 *
 * @param here - the node that was asked
 */
export function joinedSpans(
  trace: string,
  here: RemoteNode,
  parts: readonly TracePart[],
  missing: readonly MissingPart[],
): TraceSpans {
  const labelOf = labels([here, ...parts.map(({ node }) => node), ...missing.map(({ node }) => node)]);
  const known = new Map<string, SpanRecord>();
  for (const { node, spans } of byId(parts))
    for (const span of spans) {
      const other = known.get(span.id);
      if (other === undefined || (other.status === "open" && span.status !== "open"))
        known.set(span.id, { ...span, node: labelOf(node) });
    }
  const all = [...known.values()].sort(
    (one, other) => one.at - other.at || compared(one.node, other.node) || compared(one.id, other.id),
  );
  const spans = all.slice(0, JOINED_SPANS);
  const dropped = parts.reduce((sum, part) => sum + part.dropped, all.length - spans.length);
  return {
    ...{ trace, spans: treeLines(spans), dropped, node: labelOf(here) },
    missing: missingOf(missing, labelOf),
  };
}

/** The traces of all parts, the newest first. */
export function joinedTraces(parts: readonly TracesPart[], limit: number): readonly TraceSummary[] {
  const labelOf = labels(parts.map(({ node }) => node));
  const known = new Map<string, TraceSummary>();
  for (const { node, traces } of byId(parts))
    for (const one of traces) {
      const other = known.get(one.trace);
      const nodes = [labelOf(node)];
      known.set(one.trace, other === undefined ? { ...one, nodes } : both(other, { ...one, nodes }));
    }
  return [...known.values()]
    .sort((one, other) => other.at - one.at || compared(one.trace, other.trace))
    .slice(0, limit);
}

/** One trace in the lists of several nodes. Its name is that of its begin, and only if no list has that one, of what the clocks call the first. */
function both(one: TraceSummary, other: TraceSummary): TraceSummary {
  const isFirst = one.isBegin === other.isBegin ? one.at <= other.at : one.isBegin;
  const { name, isBegin } = isFirst ? one : other;
  const at = Math.min(one.at, other.at);
  const { tookMs } = one;
  const isOpen = tookMs === undefined || other.tookMs === undefined;
  const { status } = [one, other].find((each) => each.status === "error") ?? {
    status: isOpen ? "open" : "ok",
  };
  return {
    ...{ trace: one.trace, name, isBegin, at, spans: one.spans + other.spans, status },
    tookMs: isOpen ? undefined : Math.max(one.at + tookMs, other.at + other.tookMs) - at,
    nodes: [...one.nodes, ...other.nodes].sort(compared),
  };
}

/** Each node once, by its first reason in the order of the alphabet. */
function missingOf(
  missing: readonly MissingPart[],
  labelOf: (node: RemoteNode) => string,
): readonly MissingSpans[] {
  const byNode = new Map<string, MissingSpans>();
  for (const { node, why } of [...missing].sort((one, other) => compared(one.why, other.why)))
    if (!byNode.has(node.id)) byNode.set(node.id, { node: labelOf(node), why });
  return [...byNode.values()].sort((one, other) => compared(one.node, other.node));
}

/** How nodes are called: by their names, and those that share a name with their ids, too. */
function labels(nodes: readonly RemoteNode[]): (node: RemoteNode) => string {
  const ids = new Map<string, Set<string>>();
  for (const { name, id } of nodes) ids.set(name, (ids.get(name) ?? new Set()).add(id));
  return ({ name, id }) => ((ids.get(name)?.size ?? 0) > 1 ? `${name} (${id})` : name);
}

function byId<T extends { readonly node: RemoteNode }>(parts: readonly T[]): readonly T[] {
  return [...parts].sort((one, other) => compared(one.node.id, other.node.id));
}

/** By code units: the same on every machine. */
const compared = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
