// The record of a schedule as numbers: what ran in each step. Two schedules with the same digests did the same.

import type { SimulatedTask } from "./tasks.js";

/** Requests belong to actors that set no timers, and to tasks of other numbers, so both may have one. */
const KIND_NUMBERS = { effect: 0, run: 1, resume: 2, deliver: 3, timer: 0 } as const;

export function kindNumber({ kind }: SimulatedTask): number {
  return KIND_NUMBERS[kind];
}

/** A number for the owner and kind of a task. */
export function labelOf(task: SimulatedTask): number {
  return task.owner.number * 4 + kindNumber(task);
}

export class ScheduleRecord {
  steps = 0;
  /** A hash of all events, and its value after each step. */
  digest = 0x811c9dc5;
  readonly digests: number[] = [];
  /** What ran in each step, as {@link labelOf} says; -1 for faults. */
  readonly trail: number[] = [];

  /** Adds an event to the digest: FNV-1a over numbers. */
  mark(what: number): void {
    this.digest = Math.imul(this.digest ^ what, 0x01000193);
  }

  /** A step is over, without a task if it was a fault, or time that passed. */
  stepped(task: SimulatedTask | undefined): void {
    this.steps++;
    this.mark(task === undefined ? -1 : task.actor * 4 + kindNumber(task));
    this.digests.push(this.digest);
    this.trail.push(task === undefined ? -1 : labelOf(task));
  }
}
