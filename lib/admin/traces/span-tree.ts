// The spans of a trace in the order of a tree, as lines of a list: each below the one that it follows from.

import type { SpanLine, SpanRecord } from "./trace-operations.js";

/**
 * Every span once, each behind the span that it follows from, those of one parent in the order of their begins. A span whose parent is not there
 * stands at the top: it is of another node, or was dropped. Parents come from other programs, too, so they may form a circle: the circle is cut
 * at its first span.
 */
export function treeLines(spans: readonly SpanRecord[]): readonly SpanLine[] {
  // The ids may come twice: the first one has the children.
  const known = new Map<string, SpanRecord>();
  for (const span of spans) if (!known.has(span.id)) known.set(span.id, span);
  const children = new Map<SpanRecord | undefined, SpanRecord[]>();
  for (const span of byBegin(spans)) {
    const parent = span.parent === undefined ? undefined : known.get(span.parent);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [span]);
    else siblings.push(span);
  }
  const lines: SpanLine[] = [];
  const placed = new Set<SpanRecord>();
  // A list instead of a recursion: a trace may be thousands of spans deep.
  const place = (top: SpanRecord): void => {
    const left = [{ span: top, depth: 0 }];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { span, depth } = next;
      if (placed.has(span)) continue;
      placed.add(span);
      lines.push({ ...span, depth });
      for (const child of (children.get(span) ?? []).reverse()) left.push({ span: child, depth: depth + 1 });
    }
  };
  for (const top of children.get(undefined) ?? []) place(top);
  // What is left is in circles, or below one.
  for (const span of spans) if (!placed.has(span)) place(span);
  return lines;
}

function byBegin(spans: readonly SpanRecord[]): readonly SpanRecord[] {
  return [...spans].sort((one, other) => one.at - other.at);
}
