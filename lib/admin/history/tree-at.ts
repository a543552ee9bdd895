// The supervision tree at a time, out of the tree as it is and its last changes. Pure.

import type { PastChild, PastEnd, PastSupervisor, PastTree } from "./past-tree.js";
import type { KeptChild, KeptSupervisor, TreeState } from "./tree-machine.js";

/** What a question asks for. */
export interface TreeQuestion {
  readonly at: number;
  readonly now: number;
  /** Most supervisors. */
  readonly limit: number;
  /** Most children of all supervisors. */
  readonly children: number;
}

export function treeAt(state: TreeState, { at: asked, now, limit, children }: TreeQuestion): PastTree {
  const since = Math.min(now, Math.max(state.since ?? now, now - state.limits.backMs));
  const at = Math.min(Math.max(asked, since), now);
  const all = [...state.supervisors.values()]
    .filter((one) => ranAt(one, at))
    .sort((a, b) => a.facts.number - b.facts.number);
  let left = children;
  const supervisors = all.slice(0, limit).map((one) => {
    const shown = supervisorAt(one, at, left);
    left -= shown.listed.length;
    return shown;
  });
  return {
    at,
    since,
    ...neighbours(state, at, since),
    supervisors,
    more: all.length - supervisors.length,
    isPartial: state.isPartial,
  };
}

function ranAt({ from, end }: KeptSupervisor, at: number): boolean {
  return (from === undefined || from <= at) && (end === undefined || at < end.at);
}

/** @param most - children that are listed */
function supervisorAt(one: KeptSupervisor, at: number, most: number): PastSupervisor {
  const { number: _, ...facts } = one.facts;
  const ended = one.end === undefined ? undefined : { at: one.end.at, reason: one.end.reason };
  if (at < one.childrenSince) return { ...facts, childrenSince: one.childrenSince, listed: [], ended };
  const { children, others, ends } = undone(one, at);
  const listed = [...children]
    .sort(([, a], [, b]) => a.order - b.order)
    .slice(0, most)
    .map(([key, child]) => childAt(child, ends.get(key) ?? (child.pid === undefined ? undefined : ended)));
  return { ...facts, children: children.size + others, listed, ended };
}

/** The children at a time, and the ends of their processes since. */
function undone(
  { children: now, others: more, changes }: KeptSupervisor,
  at: number,
): {
  readonly children: ReadonlyMap<string, KeptChild>;
  readonly others: number;
  readonly ends: ReadonlyMap<string, PastEnd>;
} {
  const ends = new Map<string, PastEnd>();
  if ((changes.at(-1)?.at ?? at) <= at) return { children: now, others: more, ends };
  const children = new Map(now);
  let others = more;
  for (let place = changes.length - 1; place >= 0; place--) {
    const change = changes[place];
    if (change === undefined || change.at <= at) break;
    others = change.others;
    const { key, was } = change;
    if (key === undefined) continue;
    // The change that is looked at last is the first one behind the time.
    if (was?.pid !== undefined && children.get(key)?.pid !== was.pid)
      ends.set(key, { at: change.at, reason: change.reason });
    if (was === undefined) children.delete(key);
    else children.set(key, was);
  }
  return { children, others, ends };
}

function childAt(
  { id, type, status, pid, since, reason, starts }: KeptChild,
  ended: PastEnd | undefined,
): PastChild {
  const restarts = Math.max(0, starts - 1);
  // `ended` belongs to the process that ran at the time.
  return { id, type, status, pid, since, reason, restarts, ended: pid === undefined ? undefined : ended };
}

/** The times of the changes next to a time. */
function neighbours(
  { supervisors }: TreeState,
  at: number,
  since: number,
): Pick<PastTree, "earlier" | "later"> {
  let earlier = Number.NEGATIVE_INFINITY;
  let later = Number.POSITIVE_INFINITY;
  const see = (time: number | undefined): void => {
    if (time === undefined || time < since) return;
    if (time < at) earlier = Math.max(earlier, time);
    else if (time > at) later = Math.min(later, time);
  };
  for (const { from, end, changes } of supervisors.values()) {
    see(from);
    see(end?.at);
    for (const change of changes) see(change.at);
  }
  return {
    earlier: Number.isFinite(earlier) ? earlier : undefined,
    later: Number.isFinite(later) ? later : undefined,
  };
}
