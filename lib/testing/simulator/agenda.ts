// The tasks that can run next, in the order in which they became possible; paused tasks; and items in transit.

import type { Actor } from "./actor.js";
import { DeliverTask, EffectTask, type SimulatedTask, TimerTask } from "./tasks.js";
import { inOrder } from "./timers.js";

export class Agenda {
  /** In the order in which they became possible. */
  readonly tasks: SimulatedTask[] = [];
  /** Number of channels and requests so far. */
  #channels = 0;
  /** Channels of each pair of actors. */
  readonly #pairs = new Map<string, number>();

  /** Makes a task selectable; if its owner is paused, only after the pause. */
  enable(task: SimulatedTask): void {
    if (task.owner.lost) return;
    task.rank = undefined;
    (task.owner.parked ?? this.tasks).push(task);
  }

  /** Timers that are due come first, in the order in which they were set. */
  enableTimers(task: TimerTask): void {
    if (task.owner.lost) return;
    task.rank = undefined;
    const { first } = task;
    let place = 0;
    for (let other = this.tasks[0]; other?.kind === "timer"; other = this.tasks[++place])
      if (first === undefined || other.first === undefined || inOrder(first, other.first) < 0) break;
    if (place === this.tasks.length) this.tasks.push(task);
    else this.tasks.splice(place, 0, task);
  }

  disable(task: SimulatedTask): void {
    for (const list of [this.tasks, task.owner.parked ?? []]) {
      const index = list.indexOf(task);
      if (index >= 0) list.splice(index, 1);
    }
  }

  /** Removes and returns the selected task. */
  take(index: number): SimulatedTask {
    const task = this.tasks[index] as SimulatedTask;
    if (index === 0) this.tasks.shift();
    else this.tasks.splice(index, 1);
    return task;
  }

  /** Removes the tasks that `fits` accepts. */
  remove(fits: (task: SimulatedTask) => boolean): void {
    for (const task of this.tasks.filter(fits)) this.disable(task);
  }

  /** Pauses an actor: its tasks are held back until {@link Agenda.release}, which is called as often as this. */
  park(actor: Actor): void {
    if (actor.pauses++ > 0) return;
    // Its timers fire all the same.
    const parked = this.tasks.filter((task) => task.owner === actor && task.kind !== "timer");
    for (const task of parked) this.disable(task);
    actor.parked = parked;
  }

  release(actor: Actor): void {
    if (actor.lost || --actor.pauses > 0) return;
    const { parked } = actor;
    actor.parked = undefined;
    for (const task of parked ?? []) this.tasks.push(task);
  }

  /** Creates a channel from one actor to another, which delivers items in order. */
  channel(from: Actor, to: Actor, arrive: (item: unknown) => void): DeliverTask {
    const pair = `${from.key}>${to.key}`;
    const ordinal = this.#pairs.get(pair) ?? 0;
    this.#pairs.set(pair, ordinal + 1);
    return new DeliverTask(-1 - this.#channels++, `${pair}/${ordinal}`, from, to, arrive);
  }

  /** Creates the task of a request to the outside world. It is possible once it is enabled. */
  request(caller: Actor, outside: Actor, effect: () => void): EffectTask {
    return new EffectTask(-1 - this.#channels++, `${caller.key}/${++caller.objects}`, outside, effect);
  }

  /** Creates the task of an actor's timers. */
  timers(owner: Actor): TimerTask {
    return new TimerTask(-1 - this.#channels++, owner);
  }

  /** Puts an item on a channel. Its arrival is a step of its own. */
  post(way: DeliverTask, item: unknown): void {
    way.held.push(item);
    if (way.pending === 1) this.enable(way);
  }

  /** Removes and returns all items of a channel. */
  clear(way: DeliverTask): unknown[] {
    this.disable(way);
    return way.held.splice(0);
  }
}
