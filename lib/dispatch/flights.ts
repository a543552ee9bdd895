// The dispatches in flight at a consumer. The end of the consumer reaches them through the watcher of their group
// (docs/decisions/0176).

import type { Pid } from "../process/pid.js";
import type { ExitReason } from "../process/reason.js";
import type { Request } from "../process/request.js";

/** A dispatch in flight. By `next` and `previous` it is in a list with the others at its consumer. */
export interface Flight extends Request {
  /** The consumer has exited. */
  consumerExited(consumer: Pid, reason: ExitReason): void;
  /** The system ends, and with it the dispatch. */
  died(reason: ExitReason): void;
  /** Gives the dispatch a process, unless it has one. */
  appear(): void;
}

/** The dispatches in flight at one consumer that have no process of their own. */
export class Flights {
  /** False once the watcher has ended: the end of the consumer does not reach these dispatches any more. */
  isWatched = true;
  private newest: Flight | undefined = undefined;
  /** Dispatches that got a process after the consumer had exited, and before the watcher noticed: it notifies them, too. */
  private late: Flight[] = [];

  add(flight: Flight): void {
    const before = this.newest;
    flight.next = before;
    if (before !== undefined) before.previous = flight;
    this.newest = flight;
  }

  /** Does nothing when it is not in the list. */
  remove(flight: Flight): void {
    const { next, previous } = flight;
    if (previous === undefined && this.newest !== flight) return;
    if (previous === undefined) this.newest = next as Flight | undefined;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    flight.next = undefined;
    flight.previous = undefined;
  }

  addLate(flight: Flight): void {
    this.late.push(flight);
  }

  /** All that have no process, in the order in which they were delivered. */
  get all(): readonly Flight[] {
    const all: Flight[] = [];
    for (let one = this.newest; one !== undefined; one = one.next as Flight | undefined) all.push(one);
    return all.reverse();
  }

  /** The consumer has exited: all are notified, also those that have a process meanwhile. */
  exited(consumer: Pid, reason: ExitReason): void {
    const { all, late } = this;
    for (const flight of all) flight.next = flight.previous = undefined;
    // A dispatch refers to the consumers that it failed on, and these must not refer to other dispatches.
    this.newest = undefined;
    this.late = [];
    for (const flight of late) flight.consumerExited(consumer, reason);
    for (const flight of all) flight.consumerExited(consumer, reason);
  }
}
