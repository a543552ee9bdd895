// What can happen next, in the order in which it became possible; what is held up; and what is on its way.

import type { Actor } from "./actor.js";
import { DeliverTask, type SimulatedTask } from "./tasks.js";

export class Agenda {
  /** The first became possible first. */
  readonly tasks: SimulatedTask[] = [];
  /** Ways so far. */
  private channels = 0;

  /** The task can be picked from now on, unless its owner is held up. */
  enable(task: SimulatedTask): void {
    task.rank = undefined;
    (task.owner.parked ?? this.tasks).push(task);
  }

  disable(task: SimulatedTask): void {
    for (const list of [this.tasks, task.owner.parked ?? []]) {
      const index = list.indexOf(task);
      if (index >= 0) list.splice(index, 1);
    }
  }

  /** Takes the task that was picked. */
  take(index: number): SimulatedTask {
    const task = this.tasks[index] as SimulatedTask;
    if (index === 0) this.tasks.shift();
    else this.tasks.splice(index, 1);
    return task;
  }

  /** Takes out what fits. */
  remove(fits: (task: SimulatedTask) => boolean): void {
    for (const task of this.tasks.filter(fits)) this.disable(task);
  }

  /** Holds an actor up: what it could do waits until {@link Agenda.release}. */
  park(actor: Actor): void {
    const parked = this.tasks.filter((task) => task.owner === actor);
    for (const task of parked) this.disable(task);
    actor.parked = parked;
  }

  release(actor: Actor): void {
    const { parked } = actor;
    actor.parked = undefined;
    for (const task of parked ?? []) this.tasks.push(task);
  }

  /** A way from one actor to another, on which items can be. */
  channel(from: Actor, to: Actor, arrive: (item: unknown) => void): DeliverTask {
    return new DeliverTask(-1 - this.channels++, from, to, arrive);
  }

  /** Sets an item on its way: its arrival is a step of its own. */
  post(way: DeliverTask, item: unknown): void {
    way.held.push(item);
    if (way.pending === 1) this.enable(way);
  }

  /** Takes everything off a way. */
  clear(way: DeliverTask): unknown[] {
    this.disable(way);
    return way.held.splice(0);
  }
}
