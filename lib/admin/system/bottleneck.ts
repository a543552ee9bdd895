// Names the component that holds up the others, if figures show one. A busy component alone is no bottleneck: only one for which
// tuples wait.

import type { GraphComponent, GraphSubscription } from "./graph-operations.js";

/** A bolt whose busiest task is at work for this share of the time is at its limit. */
export const AT_LIMIT = 0.8;
/** A bolt that took no tuple for this time, while some wait, is stuck. */
export const STUCK_MS = 4_000;

/** What the rule goes by, beside the figures of the graph. */
export interface Evidence {
  /** The time that the rates are measured over. Undefined at the first look. */
  readonly overMs: number | undefined;
  /** Of each spout: reliable tuples that its tasks may have in flight. */
  readonly mayPend: ReadonlyMap<string, number>;
  /** The spouts that had so many in flight at every look. */
  readonly isFull: ReadonlySet<string>;
}

export interface Bottleneck {
  readonly component: string;
  readonly why: string;
}

/** The bottleneck, with the figures that show it. Undefined when they show none. */
export function bottleneckOf(
  components: readonly GraphComponent[],
  edges: readonly Pick<GraphSubscription, "from" | "to">[],
  { overMs, mayPend, isFull }: Evidence,
): Bottleneck | undefined {
  const bolts = components.filter(({ kind }) => kind === "bolt");
  const waitedFor = bolts.filter(({ waiting }) => waiting > 0);
  const atLimit = waitedFor.filter(({ capacity }) => (capacity ?? 0) >= AT_LIMIT);
  const busiest = mostOf(atLimit, ({ capacity }) => capacity ?? 0);
  if (busiest !== undefined) {
    const share = Math.round((busiest.capacity ?? 0) * 100);
    const why = `its busiest task is at work ${share} % of the time, and ${tuples(busiest.waiting)} for its tasks`;
    return { component: busiest.name, why };
  }
  if (overMs === undefined) return undefined;
  const stuck = overMs < STUCK_MS ? [] : waitedFor.filter(({ executedPerS }) => executedPerS === 0);
  // A bolt waits for one behind it that has no buffer space, so the last one is to blame.
  const last = mostOf(lastOf(stuck, edges), ({ waiting }) => waiting);
  if (last !== undefined) {
    const seconds = Math.round(overMs / 1_000);
    return {
      component: last.name,
      why: `${tuples(last.waiting)} for its tasks, which took none in the last ${seconds} s`,
    };
  }
  if (waitedFor.length > 0) return undefined;
  const full = components.find(({ name, kind }) => kind === "spout" && isFull.has(name));
  if (full === undefined) return undefined;
  const most = mayPend.get(full.name) ?? full.pending;
  return {
    component: full.name,
    why: `all the ${most} tuples that it may have pending are, while no tuple waits for a bolt: its maxPending is the limit`,
  };
}

/** Those that lead to no other of them. In a circle, all. */
function lastOf(
  some: readonly GraphComponent[],
  edges: readonly Pick<GraphSubscription, "from" | "to">[],
): readonly GraphComponent[] {
  const names = new Set(some.map(({ name }) => name));
  const last = some.filter(
    ({ name }) => !edges.some(({ from, to }) => from === name && to !== name && names.has(to)),
  );
  return last.length > 0 ? last : some;
}

function mostOf<T>(all: readonly T[], of: (one: T) => number): T | undefined {
  let most: T | undefined;
  for (const one of all) if (most === undefined || of(one) > of(most)) most = one;
  return most;
}

const tuples = (count: number): string => (count === 1 ? "1 tuple waits" : `${count} tuples wait`);
