// Virtual time. It passes when nothing can run, or by a fault. Timers of the scenario and of the systems fire in steps of their own;
// those of the simulator end faults, and fire between steps. Silent ones, by which sessions send heartbeats, are no steps at all.

import { type Due, type Timer, TimerQueue } from "../../process/timer-queue.js";
import type { WorldCore } from "./core.js";
import { inOrder, type SimulatedTimer, SimulatedTimers, type TimerHost } from "./timers.js";

export class Time {
  /** Virtual milliseconds since the scenario began. */
  now = 0;
  readonly #core: WorldCore;
  readonly #own = new TimerQueue();
  readonly #silent = new TimerQueue();
  /** Timers of the scenario, and of each system. */
  readonly #queues: SimulatedTimers[] = [];
  #set = 0;
  readonly #timers: TimerHost;

  constructor(core: WorldCore) {
    this.#core = core;
    this.#timers = {
      setter: () => core.code.setter,
      next: () => ++this.#set,
      touched: (due, how) => {
        if (core.options.observe !== true) return;
        const key = core.code.keyOfObject(due);
        if (how !== "set") core.footprints.touched(key, how);
      },
      withdrawn: (task, timer) => {
        task.withdraw(timer);
        if (task.pending === 0) core.agenda.disable(task);
      },
    };
    this.timersOf((fn) => fn());
  }

  /** Calls `due.fire` after `ms` virtual milliseconds, between two steps: for what the simulator does. Returns the call that cancels it. */
  after(ms: number, due: Due): () => void {
    const timer = this.#own.add(this.now + ms, due);
    return () => void this.#own.cancel(timer);
  }

  /** Calls `due.fire` at a time, or when nothing else can run then. It is no step, and no report shows it. */
  silently(at: number, due: Due): () => void {
    const timer = this.#silent.add(at, due);
    return () => void this.#silent.cancel(timer);
  }

  /** The same in a step of its own: for what the running code waits for. */
  alarm(ms: number, due: Due): Timer {
    return (this.#queues[0] as SimulatedTimers).add(this.now + ms, due);
  }

  /** The timers of a system. */
  timersOf(enter: (fn: () => void) => void): SimulatedTimers {
    const timers = new SimulatedTimers(this.#timers, enter);
    this.#queues.push(timers);
    return timers;
  }

  /** The machine of a system is paused: its timers do not fire, nor do those that are due, until it goes on. */
  hold(queue: SimulatedTimers): void {
    queue.isHeld = true;
    for (const { timers } of this.#core.actors.all) {
      if (timers === undefined || timers.pending === 0) continue;
      for (const timer of timers.drop(queue)) queue.putBack(timer);
      if (timers.pending === 0) this.#core.agenda.disable(timers);
    }
  }

  /** A system has stopped: its timers do not fire. */
  drop(queue: SimulatedTimers): void {
    this.#queues.splice(this.#queues.indexOf(queue), 1);
    for (const { timers } of this.#core.actors.all) {
      if (timers === undefined || timers.pending === 0) continue;
      timers.drop(queue);
      if (timers.pending === 0) this.#core.agenda.disable(timers);
    }
  }

  /** The time at which the next timer is due; undefined when none is set. */
  get next(): number | undefined {
    const loud = this.#nextLoud;
    const silent = this.#silent.next;
    return silent === undefined || (loud !== undefined && loud < silent) ? loud : silent;
  }

  get #nextLoud(): number | undefined {
    let first = this.#own.next;
    for (const timers of this.#queues) {
      const next = timers.nextTime;
      if (next !== undefined && (first === undefined || next < first)) first = next;
    }
    return first;
  }

  /** Whether a timer is due that is not a possible step yet. */
  get isDue(): boolean {
    return (this.next ?? Number.POSITIVE_INFINITY) <= this.now;
  }

  /** Whether time can pass to the next timer without the end of a sleep of the scenario. */
  get sleepsOn(): boolean {
    const next = this.#nextLoud;
    return next !== undefined && next < (this.#queues[0]?.nextTime ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Advances the time to the next timer. The timers that are due now become possible steps, except for the simulator's own, which
   * fire at once: returns whether there were any of those.
   */
  pass(): boolean {
    this.now = Math.max(this.now, this.next ?? this.now);
    let fired = false;
    for (let timer = this.#silent.take(this.now); timer !== undefined; timer = this.#silent.take(this.now))
      timer.due.fire();
    for (let timer = this.#own.take(this.now); timer !== undefined; timer = this.#own.take(this.now)) {
      this.#core.options.recorder?.time();
      timer.due.fire();
      fired = true;
    }
    const due: SimulatedTimer[] = [];
    for (const timers of this.#queues)
      for (let timer = timers.takeDue(this.now); timer !== undefined; timer = timers.takeDue(this.now))
        due.push(timer);
    const { agenda } = this.#core;
    for (const timer of due.sort(inOrder)) {
      const { owner } = timer;
      owner.timers ??= agenda.timers(owner);
      owner.timers.push(timer);
      if (owner.timers.pending === 1) agenda.enableTimers(owner.timers);
    }
    return fired;
  }
}
