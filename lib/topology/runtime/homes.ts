// Sends the tuples of a bolt with windows to their homes: a retried tuple goes to the task that its first try was sent to,
// even if the grouping chooses another one now. Each task has windows of its own, and only those of the home wait for the tuple.

import type { Tuple } from "../definition/tuple.js";
import { type Arriving, type Place, Places } from "../tracking/places.js";
import type { Channel } from "./channels.js";
import { find, pendingOf, treesOf } from "./origins.js";
import type { RunningTopology } from "./running-topology.js";
import type { ComponentRun, TaskSlot } from "./task-slots.js";

/** The homes of the tuples of one bolt. */
export class Homes {
  readonly #run: RunningTopology;
  readonly #component: ComponentRun;
  readonly #timeOf: (tuple: Tuple) => number;
  readonly #places = new Places();
  readonly #byTuple = new WeakMap<Tuple, Place>();

  /** @param timeOf - the time of a tuple. If that throws, the tuple is in no window and has no home. */
  constructor(run: RunningTopology, component: ComponentRun, timeOf: (tuple: Tuple) => number) {
    this.#run = run;
    this.#component = component;
    this.#timeOf = timeOf;
  }

  /** The place of a tuple that was sent. */
  get(tuple: Tuple): Place | undefined {
    return this.#byTuple.get(tuple);
  }

  /** The task that gets a tuple which is about to be sent to this one. If its home was taken out, this one becomes its home. */
  homeOf(tuple: Tuple, chosen: TaskSlot): TaskSlot {
    const place = this.#placeOf(tuple);
    if (place === undefined || place.task === chosen.task) return chosen;
    const home = this.#slotOf(place);
    if (home !== undefined) return home;
    place.task = chosen.task;
    place.queued = false;
    return chosen;
  }

  /** Another copy is sent in place of a tuple. */
  move(tuple: Tuple, copy: Tuple): void {
    const place = this.#byTuple.get(tuple);
    if (place !== undefined) this.#byTuple.set(copy, place);
  }

  /** A tuple has failed on its way to its task or in it, and will come again. */
  lost(tuple: Tuple): void {
    const run = this.#run;
    if (run.switches.ending || !tuple.anchored) return;
    const place = this.#placeOf(tuple);
    if (place !== undefined) this.#slotOf(place)?.losses?.add(place, run.kernel.env.now());
  }

  /** The places of the tuples of this bolt that a tuple further down descends from. */
  under(descendant: Tuple): Place[] {
    this.#run.hooks.trees(this.#component.name, "write");
    const found: Place[] = [];
    for (const { hi, lo } of treesOf(descendant))
      for (const place of find(this.#run, hi, lo, false)?.trace?.places ?? [])
        if (place.bolt === this.#places) found.push(place);
    return found;
  }

  /** The tuple comes again into a window that had it. */
  reopen(place: Place): void {
    place.done = false;
    this.#slotOf(place)?.losses?.add(place, this.#run.kernel.env.now());
  }

  #slotOf({ task }: Place): TaskSlot | undefined {
    return this.#component.allSlots.find((slot) => slot.task === task);
  }

  /** The place of a tuple, which it takes if it has none. Undefined when the spout's tuple is settled, or there is no time. */
  #placeOf(tuple: Tuple): Place | undefined {
    const run = this.#run;
    const component = this.#component;
    const byTuple = this.#byTuple;
    run.hooks.trees(component.name, "write");
    const known = byTuple.get(tuple);
    if (known !== undefined) return known;
    const arriving = this.#arriving(tuple);
    if (arriving === undefined) return undefined;
    const place = this.#places.claim(arriving);
    byTuple.set(tuple, place);
    return place;
  }

  #arriving(tuple: Tuple): Arriving | undefined {
    const origin = pendingOf(this.#run, tuple);
    if (origin === undefined) return undefined;
    const { slot, input, roams } = tuple.channel as Channel;
    try {
      const { pending, attempt } = origin;
      const { values } = tuple;
      return { pending, attempt, input, time: this.#timeOf(tuple), values, task: slot.task, roams };
    } catch {
      return undefined;
    }
  }
}
