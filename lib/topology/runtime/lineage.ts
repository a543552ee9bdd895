// Finds the spout's tuple that a tuple descends from, across retries. For bolts that hold tuples for long: each try has its
// own tree, so a bolt may hold a tuple of an ended tree while the next try of the same spout's tuple is in flight.

import type { InitContext } from "../definition/component.js";
import { reachedFrom } from "../definition/downstream.js";
import { FAILED, type Tuple } from "../definition/tuple.js";
import { eachTree } from "../tracking/anchors.js";
import { Losses } from "../tracking/losses.js";
import { type PendingTuple, traceOf } from "../tracking/pending-tuple.js";
import type { Channel } from "./channels.js";
import type { TaskMeter } from "./metrics.js";
import type { RunningTopology } from "./running-topology.js";
import type { TaskSlot } from "./task-slots.js";

const LINEAGE = Symbol("lineage");

/** The lineage of the tuples of one bolt task. */
export class Lineage {
  readonly task: number;
  readonly meter: TaskMeter;
  private readonly run: RunningTopology;
  private readonly slot: TaskSlot;
  private below: ReadonlySet<string> | undefined = undefined;

  constructor(run: RunningTopology, slot: TaskSlot) {
    this.run = run;
    this.slot = slot;
    this.task = slot.task;
    this.meter = slot.meter;
  }

  /** The lineage of the task with this context. Undefined in another host, which does not expose its trees. */
  static of(ctx: InitContext | object): Lineage | undefined {
    return (ctx as { readonly [LINEAGE]?: Lineage })[LINEAGE];
  }

  /** Adds the lineage to a context. */
  into<C extends object>(ctx: C): C {
    return Object.assign(ctx, { [LINEAGE]: this });
  }

  /** Begins to note the tuples that are lost on their way to the bolt's tasks, or in them. */
  watch(timeOf: (tuple: Tuple) => number): void {
    const { run } = this;
    const { component } = this.slot;
    const patienceMs = run.blueprint.config.messageTimeoutMs;
    run.acking.notesFailures = true;
    component.losses ??= new Losses(patienceMs);
    this.slot.losses ??= new Losses(patienceMs);
    component.lost = (tuple) => {
      const pending = run.switches.ending ? undefined : originOf(run, tuple);
      if (pending === undefined) return;
      run.hooks.trees(component.name, "write");
      try {
        (tuple.channel as Channel | undefined)?.losses?.add(
          timeOf(tuple),
          pending,
          tuple.rootLo,
          run.kernel.env.now(),
        );
      } catch {
        // A tuple without a time is in no window.
      }
    };
  }

  /** The spout's tuple that a tuple descends from. Undefined when that is settled, or was never tracked. */
  originOf(tuple: Tuple): PendingTuple | undefined {
    return originOf(this.run, tuple);
  }

  /** Whether every tree of the tuple has ended. */
  isStale(tuple: Tuple): boolean {
    let stale = true;
    for (const { hi, lo } of treesOf(tuple)) stale &&= find(this.run, hi, lo, true) === undefined;
    return stale;
  }

  /** Notes that the tuple failed and will come again. */
  lost(tuple: Tuple): void {
    this.slot.component.lost?.(tuple);
  }

  /** A tuple of another try has come. Returns whether a tuple like it was lost here. */
  came(time: number, pending: PendingTuple, tuple: Tuple): boolean {
    this.run.hooks.trees(this.slot.component.name, "write");
    return (tuple.channel as Channel | undefined)?.losses?.came(time, pending, tuple.rootLo) === true;
  }

  /** The earliest time of a lost tuple that has not come again. */
  get outstanding(): number {
    const now = this.run.kernel.env.now();
    this.run.hooks.trees(this.slot.component.name, "read");
    const { losses, component } = this.slot;
    const never = Number.POSITIVE_INFINITY;
    return Math.min(losses?.earliest(now) ?? never, component.losses?.earliest(now) ?? never);
  }

  /** Discards a tuple of an earlier try: a later try has taken its place. */
  forget(tuple: Tuple): void {
    this.slot.incarnation?.held.delete(tuple);
    tuple.state = FAILED;
    this.run.settlements.notify();
  }

  /** Whether a descendant failed downstream of this bolt, or may have failed there. */
  brokenBelow({ trace }: PendingTuple): boolean {
    if (trace === undefined) return false;
    this.below ??= reachedFrom(this.slot.component.name, this.run.blueprint.subscriptions);
    for (const name of trace.failedAt) if (this.below.has(name)) return true;
    return trace.expired;
  }
}

/** Notes that a descendant of the spouts' tuples of these trees failed in a component. */
export function noteFailure(run: RunningTopology, tuple: Tuple, component: string): void {
  for (const { hi, lo } of treesOf(tuple)) {
    const pending = find(run, hi, lo, false);
    if (pending !== undefined) traceOf(pending).failedAt.add(component);
  }
}

/** How many trees in flight have no tuple that a bolt holds: their outcomes are on the way to their spouts. */
export function inTransit(run: RunningTopology): number {
  let inFlight = 0;
  for (const spout of run.registry.spouts)
    for (const { retries } of run.registry.slotsOf(spout)) inFlight += retries?.inFlight ?? 0;
  if (inFlight === 0) return 0;
  const held = new Set<PendingTuple>();
  for (const tuple of run.registry.held)
    for (const { hi, lo } of treesOf(tuple)) {
      const pending = find(run, hi, lo, true);
      if (pending !== undefined) held.add(pending);
    }
  return inFlight - held.size;
}

/** Of several spouts' tuples, the one that was emitted first, so that it is the same at every try. */
function originOf(run: RunningTopology, tuple: Tuple): PendingTuple | undefined {
  if (!tuple.anchored) return undefined;
  if (tuple.more === undefined) return find(run, tuple.rootHi, tuple.rootLo, false);
  let first: PendingTuple | undefined;
  for (const { hi, lo } of treesOf(tuple)) {
    const pending = find(run, hi, lo, false);
    if (pending !== undefined && !(first !== undefined && first.serial < pending.serial)) first = pending;
  }
  return first;
}

function find(run: RunningTopology, hi: number, lo: number, current: boolean): PendingTuple | undefined {
  for (const spout of run.registry.spouts) {
    for (const slots of [spout.slots, spout.retired])
      for (const slot of slots) {
        if (run.kernel.interception !== undefined) run.hooks.trees(slot.id, "read");
        const pending = current ? slot.retries?.current(hi, lo) : slot.retries?.find(hi, lo);
        if (pending !== undefined) return pending;
      }
  }
  return undefined;
}

function treesOf(tuple: Tuple): { readonly hi: number; readonly lo: number }[] {
  if (!tuple.anchored) return [];
  const trees = [{ hi: tuple.rootHi, lo: tuple.rootLo }];
  if (tuple.more !== undefined) eachTree(tuple.more, (hi, lo) => trees.push({ hi, lo }));
  return trees;
}
