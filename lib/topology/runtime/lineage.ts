// What tuples come of, across retries: for bolts that hold tuples for long. A try has a tree of its own, so a tuple that
// is held, or waits, may be of a tree that has ended, while the next try of the same tuple is on its way.

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

/** Of one task of a bolt. */
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

  /** The lineage of the task that has this context. Undefined under another host, which keeps its trees to itself. */
  static of(ctx: InitContext | object): Lineage | undefined {
    return (ctx as { readonly [LINEAGE]?: Lineage })[LINEAGE];
  }

  /** Puts it into a context. */
  into<C extends object>(ctx: C): C {
    return Object.assign(ctx, { [LINEAGE]: this });
  }

  /** The bolt wants to know of tuples that are lost on their way to its tasks, or in them. */
  watch(timeOf: (tuple: Tuple) => number): void {
    const { run } = this;
    const { component } = this.slot;
    const patienceMs = run.blueprint.config.messageTimeoutMs;
    run.acking.notesFailures = true;
    component.losses ??= new Losses(patienceMs);
    this.slot.losses ??= new Losses(patienceMs);
    component.lost = (tuple) => {
      const kept = run.switches.ending ? undefined : originOf(run, tuple);
      if (kept === undefined) return;
      run.hooks.trees(component.name, "write");
      try {
        (tuple.channel as Channel | undefined)?.losses?.add(
          timeOf(tuple),
          kept,
          tuple.rootLo,
          run.kernel.env.now(),
        );
      } catch {
        // It has no time: it is in no window.
      }
    };
  }

  /** The spout's tuple that it came of. Undefined when that is settled, or never was tracked. */
  originOf(tuple: Tuple): PendingTuple | undefined {
    return originOf(this.run, tuple);
  }

  /** Whether every tree that it belongs to has ended. */
  isStale(tuple: Tuple): boolean {
    let stale = true;
    for (const { hi, lo } of treesOf(tuple)) stale &&= find(this.run, hi, lo, true) === undefined;
    return stale;
  }

  /** The tuple failed, and will come again. */
  lost(tuple: Tuple): void {
    this.slot.component.lost?.(tuple);
  }

  /** Another try of what was emitted before has come. Whether a tuple like it was lost here. */
  came(time: number, kept: PendingTuple, tuple: Tuple): boolean {
    this.run.hooks.trees(this.slot.component.name, "write");
    return (tuple.channel as Channel | undefined)?.losses?.came(time, kept, tuple.rootLo) === true;
  }

  /** The earliest time of what was lost and has not come again. */
  get outstanding(): number {
    const now = this.run.kernel.env.now();
    this.run.hooks.trees(this.slot.component.name, "read");
    const { losses, component } = this.slot;
    const never = Number.POSITIVE_INFINITY;
    return Math.min(losses?.earliest(now) ?? never, component.losses?.earliest(now) ?? never);
  }

  /** This try of the tuple counts no more: a later try has taken its place. */
  forget(tuple: Tuple): void {
    this.slot.incarnation?.held.delete(tuple);
    tuple.state = FAILED;
    this.run.settlements.notify();
  }

  /** Whether something that came of it failed downstream of this bolt, or may have. */
  brokenBelow({ trace }: PendingTuple): boolean {
    if (trace === undefined) return false;
    this.below ??= reachedFrom(this.slot.component.name, this.run.blueprint.subscriptions);
    for (const name of trace.failedAt) if (this.below.has(name)) return true;
    return trace.expired;
  }
}

/** Something that came of the tuples of these trees failed in that component. */
export function noteFailure(run: RunningTopology, tuple: Tuple, component: string): void {
  for (const { hi, lo } of treesOf(tuple)) {
    const kept = find(run, hi, lo, false);
    if (kept !== undefined) traceOf(kept).failedAt.add(component);
  }
}

/** How many of the spouts' tuples that fly have nothing held in a bolt: news of them is on its way. */
export function inTransit(run: RunningTopology): number {
  let flying = 0;
  for (const spout of run.registry.spouts)
    for (const { retries: roots } of run.registry.slotsOf(spout)) flying += roots?.inFlight ?? 0;
  if (flying === 0) return 0;
  const held = new Set<PendingTuple>();
  for (const tuple of run.registry.held)
    for (const { hi, lo } of treesOf(tuple)) {
      const kept = find(run, hi, lo, true);
      if (kept !== undefined) held.add(kept);
    }
  return flying - held.size;
}

/** Of several, the one that was emitted first: so it is the same at every try. */
function originOf(run: RunningTopology, tuple: Tuple): PendingTuple | undefined {
  if (!tuple.anchored) return undefined;
  if (tuple.more === undefined) return find(run, tuple.rootHi, tuple.rootLo, false);
  let first: PendingTuple | undefined;
  for (const { hi, lo } of treesOf(tuple)) {
    const kept = find(run, hi, lo, false);
    if (kept !== undefined && !(first !== undefined && first.serial < kept.serial)) first = kept;
  }
  return first;
}

function find(run: RunningTopology, hi: number, lo: number, current: boolean): PendingTuple | undefined {
  for (const spout of run.registry.spouts) {
    for (const slots of [spout.slots, spout.retired])
      for (const slot of slots) {
        if (run.kernel.interception !== undefined) run.hooks.trees(slot.id, "read");
        const kept = current ? slot.retries?.current(hi, lo) : slot.retries?.find(hi, lo);
        if (kept !== undefined) return kept;
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
