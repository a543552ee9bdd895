// The timers of a simulated system. Timers that are due are not fired together: each fires in a step of its own. The timers of one
// actor fire in the order in which it set them, those of several actors in any order, since in production nothing but chance
// decides which of two clocks is read first.

import { type Due, Timer, TimerQueue } from "../../process/timer-queue.js";
import type { Actor } from "./actor.js";
import type { TimerTask } from "./tasks.js";

/** The part of their world that timers need. */
export interface TimerHost {
  /** The actor that sets a timer now. */
  setter(): Actor;
  /** A number higher than all before. */
  next(): number;
  /** The running code sets or ends a timer, or looks whether it has ended. */
  touched(timer: Due, how: "set" | "read" | "write"): void;
  /** A timer was cancelled when it was due already. */
  withdrawn(task: TimerTask, timer: SimulatedTimer): void;
}

export class SimulatedTimer extends Timer {
  readonly owner: Actor;
  /** In the order of creation, over all systems. */
  readonly order: number;
  readonly queue: SimulatedTimers;
  /** Where it waits to be fired, once it is due. */
  task: TimerTask | undefined = undefined;

  constructor(queue: SimulatedTimers, deadline: number, owner: Actor, order: number, due: Due) {
    super(deadline, order, due);
    this.queue = queue;
    this.owner = owner;
    this.order = order;
  }

  override get pending(): boolean {
    return super.pending || this.task !== undefined;
  }
}

export class SimulatedTimers extends TimerQueue {
  /** The clock that the deadlines are about; by default the true time. */
  clock: { now(): number; trueTime(local: number): number } | undefined = undefined;
  /** Its machine is paused. */
  isHeld = false;
  /** Runs code of the system. */
  readonly enter: (fn: () => void) => void;
  readonly #host: TimerHost;

  constructor(host: TimerHost, enter: (fn: () => void) => void) {
    super();
    this.#host = host;
    this.enter = enter;
  }

  override add(deadline: number, due: Due): SimulatedTimer {
    const host = this.#host;
    host.touched(due, "set");
    const timer = new SimulatedTimer(this, deadline, host.setter(), host.next(), due);
    this.insert(timer);
    return timer;
  }

  override cancel(timer: SimulatedTimer): boolean {
    this.#host.touched(timer.due, timer.pending ? "write" : "read");
    if (timer.task === undefined) return super.cancel(timer);
    this.#host.withdrawn(timer.task, timer);
    return true;
  }

  /** The true time at which the first timer is due. */
  get nextTime(): number | undefined {
    const next = this.isHeld ? undefined : this.next;
    return next === undefined || this.clock === undefined ? next : this.clock.trueTime(next);
  }

  /** Removes and returns the first timer that is due at a true time. */
  takeDue(now: number): SimulatedTimer | undefined {
    return this.isHeld ? undefined : (this.take(this.clock?.now() ?? now) as SimulatedTimer | undefined);
  }

  /** A timer that was due waits again. */
  putBack(timer: SimulatedTimer): void {
    this.insert(timer);
  }

  /** Fires a timer that is due. */
  fire(timer: SimulatedTimer): void {
    this.#host.touched(timer.due, "write");
    this.enter(() => timer.due.fire());
  }
}

/** By deadline, then by creation. */
export function inOrder(a: SimulatedTimer, b: SimulatedTimer): number {
  return a.deadline - b.deadline || a.order - b.order;
}
