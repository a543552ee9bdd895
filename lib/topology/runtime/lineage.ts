// Finds the spout's tuple that a tuple descends from, across retries. For bolts that hold tuples for long: each try has its
// own tree, so a bolt may hold a tuple of an ended tree while the next try of the same spout's tuple is in flight.

import type { InitContext } from "../definition/component.js";
import { reachedFrom } from "../definition/downstream.js";
import { FAILED, type Tuple } from "../definition/tuple.js";
import { Losses } from "../tracking/losses.js";
import type { PendingTuple } from "../tracking/pending-tuple.js";
import type { Place } from "../tracking/places.js";
import { Homes } from "./homes.js";
import type { TaskMeter } from "./metrics.js";
import { find, treesOf } from "./origins.js";
import type { RunningTopology } from "./running-topology.js";
import type { TaskSlot } from "./task-slots.js";
import { type WindowResult, WindowResults } from "./window-results.js";

const LINEAGE = Symbol("lineage");

/** The lineage of the tuples of one bolt task. */
export class Lineage {
  readonly task: number;
  readonly meter: TaskMeter;
  readonly #run: RunningTopology;
  readonly #slot: TaskSlot;
  #below: ReadonlySet<string> | undefined = undefined;

  constructor(run: RunningTopology, slot: TaskSlot) {
    this.#run = run;
    this.#slot = slot;
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

  /** The task works on these tuples now. If it ends meanwhile, the others that it holds spend no retry. */
  works(tuples: readonly Tuple[]): void {
    const { incarnation } = this.#slot;
    if (incarnation === undefined) return;
    incarnation.tuples.given = tuples;
    incarnation.tuples.result = undefined;
  }

  /** The tuples that the task emits from now on are results of this window, until it works on other tuples. */
  emits(result: WindowResult): void {
    if (this.#slot.incarnation !== undefined) this.#slot.incarnation.tuples.result = result;
  }

  /** The places in this task of the tuples that a descendant of a window's result was anchored to. */
  placesOf(descendant: Tuple): Place[] {
    return this.#homes?.under(descendant).filter(({ task }) => task === this.task) ?? [];
  }

  /** A window is handed over again: a tuple of it comes again. */
  reopen(place: Place): void {
    this.#homes?.reopen(place);
  }

  /** Begins to note where tuples are, and which are lost on their way to the bolt's tasks, or in them. */
  watch(timeOf: (tuple: Tuple) => number): void {
    const run = this.#run;
    const { component } = this.#slot;
    run.results ??= new WindowResults();
    if (this.#homes === undefined) run.homes.set(component, new Homes(run, component, timeOf));
    this.#slot.losses ??= new Losses(run.blueprint.config.messageTimeoutMs);
  }

  /** The place of a tuple. Undefined when its spout's tuple was settled when it was sent, or was never tracked. */
  placeOf(tuple: Tuple): Place | undefined {
    return this.#homes?.get(tuple);
  }

  /** Whether every tree of the tuple has ended. */
  isStale(tuple: Tuple): boolean {
    if (tuple.more === undefined) return find(this.#run, tuple.rootHi, tuple.rootLo, true) === undefined;
    let stale = true;
    for (const { hi, lo } of treesOf(tuple)) stale &&= find(this.#run, hi, lo, true) === undefined;
    return stale;
  }

  /** Notes that the tuple failed and will come again. */
  lost(tuple: Tuple): void {
    this.#homes?.lost(tuple);
  }

  /** The next try of a tuple has come home. Returns whether the tuple was lost. */
  back(place: Place): boolean {
    this.#run.hooks.trees(this.#slot.component.name, "write");
    const { isLost } = place;
    place.isLost = false;
    return isLost;
  }

  /** The earliest time of a lost tuple that has not come again. */
  get outstanding(): number {
    this.#run.hooks.trees(this.#slot.component.name, "read");
    return this.#slot.outstanding(this.#run.kernel.env.now());
  }

  /** Discards a tuple of an earlier try: a later try has taken its place. */
  forget(tuple: Tuple): void {
    this.#slot.incarnation?.tuples.held.delete(tuple);
    tuple.state = FAILED;
    this.#run.settlements.notify();
  }

  /**
   * Whether the result of a window may have expired downstream of this bolt. A result that failed there is known by the
   * window.
   */
  expiredBelow({ trace }: PendingTuple): boolean {
    if (trace?.expired !== true) return false;
    this.#below ??= reachedFrom(this.#slot.component.name, this.#run.blueprint.subscriptions);
    return this.#below.size > 0;
  }

  get #homes(): Homes | undefined {
    return this.#run.homes.get(this.#slot.component);
  }
}

/** How many trees in flight have no tuple that a bolt holds: their outcomes are on the way to their spouts. */
export function inTransit(run: RunningTopology): number {
  const { inFlight } = run.registry;
  if (inFlight === 0) return 0;
  const held = new Set<PendingTuple>();
  for (const tuple of run.registry.held)
    for (const { hi, lo } of treesOf(tuple)) {
      const pending = find(run, hi, lo, true);
      if (pending !== undefined) held.add(pending);
    }
  return inFlight - held.size;
}
