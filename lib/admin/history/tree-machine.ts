// The history of the supervision tree as a machine: the tree as it is, and for each supervisor a list of its last changes, each with what was
// there before. The tree at a time is the tree as it is with the later changes undone; see tree-at.ts. So what is forgotten is the oldest, and
// each supervisor knows from when on its children are known: one that changes all the time hides no other.
//
// A snapshot and changes are joined supervisor by supervisor. A supervisor is read once, in one piece, and its changes count from then on.
//
// The state is changed in place, since children may come and go thousands of times a second. Nobody holds a state from before, and the same
// events lead to the same state.

import type { ChildStatus } from "../../supervisor/protocol.js";

/** The limits of a history of the tree. */
export interface TreeLimits {
  /** Supervisors that are known, with those that have ended. */
  readonly supervisors: number;
  /** Children of one supervisor that stand by themselves. The others are counted. */
  readonly childrenOfOne: number;
  /** The same of all supervisors. */
  readonly children: number;
  /** Changes that are kept of one supervisor … */
  readonly changesOfOne: number;
  /** … and of all. */
  readonly changes: number;
  /** How far back the tree is known, in milliseconds. */
  readonly backMs: number;
  /** Counts of children that do not stand by themselves are known to this time, in milliseconds. */
  readonly countMs: number;
}

export const TREE_LIMITS: TreeLimits = {
  supervisors: 1_024,
  childrenOfOne: 100,
  children: 10_000,
  changesOfOne: 256,
  changes: 4_096,
  backMs: 600_000,
  countMs: 1_000,
};

/** A supervisor, but for its children. Texts are bounded. */
export interface SupervisorFacts {
  /** The number of its pid. */
  readonly number: number;
  readonly pid: string;
  readonly label?: string | undefined;
  readonly name?: string | undefined;
  readonly parent?: string | undefined;
  readonly strategy: string;
  readonly intensity: number;
  readonly periodMs: number;
}

/** A child, as its supervisor has it now. Texts are bounded. */
export interface ChildFacts {
  /** Tells it from all others of its supervisor. */
  readonly key: string;
  readonly id: string;
  readonly type: "worker" | "supervisor";
  readonly status: ChildStatus;
  readonly pid: string | undefined;
}

export type TreeEvent =
  /** A supervisor with its first children. `isNew`: it has begun now. */
  | {
      readonly type: "found";
      readonly at: number;
      readonly supervisor: SupervisorFacts;
      readonly count: number;
      readonly first: readonly ChildFacts[];
      readonly isNew: boolean;
    }
  /** A child of a supervisor is so now; without `child`, it is gone. `reason`: why its process has ended. */
  | {
      readonly type: "changed";
      readonly at: number;
      readonly supervisor: number;
      readonly key: string;
      readonly child: ChildFacts | undefined;
      readonly isNew: boolean;
      readonly reason?: string | undefined;
    }
  | { readonly type: "ended"; readonly at: number; readonly supervisor: number; readonly reason: string }
  /** A supervisor for which there was no room. */
  | { readonly type: "refused" }
  /** Every supervisor that ran when the history began has been found, or has ended. */
  | { readonly type: "whole"; readonly at: number }
  | { readonly type: "forget" };

/** A child that stands by itself. */
export interface KeptChild extends Omit<ChildFacts, "key"> {
  /** Its place among its siblings. */
  readonly order: number;
  /** Since when it is so. Undefined: since before it was found. */
  readonly since: number | undefined;
  /** Why its last process ended. */
  readonly reason: string | undefined;
  /** Processes that it has had. */
  readonly starts: number;
}

/** How to undo a change. */
export interface TreeChange {
  readonly at: number;
  /** The child that changed. Undefined: only their count did. */
  readonly key: string | undefined;
  readonly was: KeptChild | undefined;
  /** Children before, without those that stand by themselves. */
  readonly others: number;
  /** Why a process ended by this change, if one did. */
  readonly reason: string | undefined;
}

export interface KeptSupervisor {
  readonly facts: SupervisorFacts;
  /** When it began. Undefined: before the history. */
  readonly from: number | undefined;
  end: { readonly at: number; readonly reason: string } | undefined;
  /** From when on its children are known. */
  childrenSince: number;
  /** Those that stand by themselves, by key. */
  readonly children: Map<string, KeptChild>;
  /** How many others it has. */
  others: number;
  /** The oldest first. */
  changes: TreeChange[];
}

export interface TreeState {
  readonly limits: TreeLimits;
  /** By the number of the pid. */
  readonly supervisors: Map<number, KeptSupervisor>;
  /** Those that have ended, the first one first. */
  over: KeptSupervisor[];
  /** From when on the tree is known. Undefined: not all of it has been found yet. */
  since: number | undefined;
  /** The time of the last event. It does not go back when the clock on the wall does. */
  at: number;
  /** Children that stand by themselves, and changes, of all supervisors. */
  children: number;
  changes: number;
  lastOrder: number;
  /** There was no room for a supervisor. */
  isPartial: boolean;
}

export function initial(limits: TreeLimits = TREE_LIMITS): TreeState {
  return {
    limits,
    supervisors: new Map(),
    over: [],
    since: undefined,
    at: Number.NEGATIVE_INFINITY,
    children: 0,
    changes: 0,
    lastOrder: 0,
    isPartial: false,
  };
}

const NOTHING: readonly never[] = [];

export function decide(state: TreeState, event: TreeEvent): readonly [TreeState, readonly never[]] {
  if (event.type === "forget") return [initial(state.limits), NOTHING];
  if (event.type === "refused") {
    state.isPartial = true;
    return [state, NOTHING];
  }
  const at = Math.max(state.at, event.at);
  state.at = at;
  switch (event.type) {
    case "found":
      found(state, event, at);
      return [state, NOTHING];
    case "changed": {
      const one = state.supervisors.get(event.supervisor);
      if (one !== undefined && one.end === undefined) changed(state, one, event, at);
      return [state, NOTHING];
    }
    case "ended": {
      const one = state.supervisors.get(event.supervisor);
      if (one === undefined || one.end !== undefined) return [state, NOTHING];
      one.end = { at, reason: event.reason };
      state.over.push(one);
      return [state, NOTHING];
    }
    case "whole":
      state.since ??= at;
      return [state, NOTHING];
    default:
      return event satisfies never;
  }
}

/** Whether one more supervisor would be kept. To read one costs as much as it has children. */
export function hasRoom({ supervisors, over, limits }: TreeState): boolean {
  return supervisors.size < limits.supervisors || over.length > 0;
}

/** Whether a child stands by itself, or would if it changed so. Of others nobody needs the texts. */
export function isListed(state: TreeState, supervisor: number, key: string, isNew: boolean): boolean {
  const one = state.supervisors.get(supervisor);
  return one !== undefined && (one.children.has(key) || (isNew && mayList(state, one)));
}

function mayList({ limits, children }: TreeState, one: KeptSupervisor): boolean {
  return one.children.size < limits.childrenOfOne && children < limits.children;
}

function found(state: TreeState, event: Extract<TreeEvent, { readonly type: "found" }>, at: number): void {
  const { supervisor, count, first, isNew } = event;
  if (state.supervisors.has(supervisor.number)) return;
  makeRoom(state, at);
  if (state.supervisors.size >= state.limits.supervisors) {
    state.isPartial = true;
    return;
  }
  const one: KeptSupervisor = {
    facts: supervisor,
    // One that is found later may have begun at any time since.
    from: isNew || state.since !== undefined ? at : undefined,
    end: undefined,
    childrenSince: at,
    children: new Map(),
    others: count,
    changes: [],
  };
  for (const { key, ...child } of first) {
    if (!mayList(state, one)) break;
    const starts = child.status === "stopped" ? 0 : 1;
    one.children.set(key, {
      ...child,
      order: ++state.lastOrder,
      since: undefined,
      reason: undefined,
      starts,
    });
    one.others--;
    state.children++;
  }
  state.supervisors.set(supervisor.number, one);
}

/** Lets go of supervisors that ended longer ago than the tree is known, and of the one that ended first if there is no room. */
function makeRoom(state: TreeState, at: number): void {
  const { supervisors, over, limits } = state;
  const isOld = (one: KeptSupervisor | undefined): one is KeptSupervisor =>
    one?.end !== undefined && one.end.at < at - limits.backMs;
  let gone = 0;
  while (isOld(over[gone])) gone++;
  if (gone === 0 && supervisors.size >= limits.supervisors && over.length > 0) gone = 1;
  if (gone === 0) return;
  for (const one of over.splice(0, gone)) {
    supervisors.delete(one.facts.number);
    state.children -= one.children.size;
    state.changes -= one.changes.length;
    if (state.since !== undefined && one.end !== undefined && isTop(state, one))
      state.since = Math.max(state.since, one.end.at);
  }
}

/** Whether it stands below no other supervisor, where it would be seen as a child. Without it a tree would have no top. */
function isTop({ supervisors }: TreeState, { facts: { parent } }: KeptSupervisor): boolean {
  if (parent === undefined) return true;
  for (const { facts } of supervisors.values()) if (facts.pid === parent) return false;
  return true;
}

function changed(
  state: TreeState,
  one: KeptSupervisor,
  event: Extract<TreeEvent, { readonly type: "changed" }>,
  at: number,
): void {
  const { key, child, isNew } = event;
  const { others } = one;
  const was = one.children.get(key);
  if (was === undefined && !(isNew && child !== undefined && mayList(state, one))) {
    // One of those that are counted.
    if (child === undefined) one.others = Math.max(0, others - 1);
    else if (isNew) one.others++;
    if (one.others !== others) counted(state, one, at, others);
    return;
  }
  const hasEnded = was?.pid !== undefined && was.pid !== child?.pid;
  const reason = hasEnded ? event.reason : undefined;
  if (child === undefined) {
    one.children.delete(key);
    state.children--;
  } else {
    const isSame = was !== undefined && was.status === child.status && was.pid === child.pid;
    if (isSame) return;
    one.children.set(key, after(state, was, child, at, reason));
    if (was === undefined) state.children++;
  }
  keep(state, one, { at, key, was, others, reason });
}

function after(
  state: TreeState,
  was: KeptChild | undefined,
  { id, type, status, pid }: ChildFacts,
  at: number,
  reason: string | undefined,
): KeptChild {
  const isStart = pid !== undefined && pid !== was?.pid;
  return {
    id,
    type,
    status,
    pid,
    order: was?.order ?? ++state.lastOrder,
    since: at,
    reason: reason ?? was?.reason,
    starts: (was?.starts ?? 0) + (isStart ? 1 : 0),
  };
}

/** The count of the others has changed. Changes within a second are one. */
function counted(state: TreeState, one: KeptSupervisor, at: number, others: number): void {
  const last = one.changes.at(-1);
  if (last !== undefined && last.key === undefined && at - last.at < state.limits.countMs) return;
  keep(state, one, { at, key: undefined, was: undefined, others, reason: undefined });
}

function keep(state: TreeState, one: KeptSupervisor, change: TreeChange): void {
  const { changes, changesOfOne } = state.limits;
  one.changes.push(change);
  state.changes++;
  // By halves, so that each change costs the same in the end.
  if (one.changes.length > changesOfOne) drop(state, one, changesOfOne >> 1);
  if (state.changes <= changes) return;
  let longest = one;
  for (const each of state.supervisors.values())
    if (each.changes.length > longest.changes.length) longest = each;
  drop(state, longest, Math.ceil(longest.changes.length / 2));
}

/** Forgets the oldest changes of a supervisor: its children are known from the last of these on. */
function drop(state: TreeState, one: KeptSupervisor, count: number): void {
  const gone = one.changes.slice(0, count);
  one.changes = one.changes.slice(count);
  one.childrenSince = gone.at(-1)?.at ?? one.childrenSince;
  state.changes -= gone.length;
}
