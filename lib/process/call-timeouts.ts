// The timeouts of calls. Most calls have the same one, so those of one length are in a list, in which they are due one after the other: to
// add a timeout or to cancel one takes constant time. The first of each list stands for the list in the queue of timers.

import { type Due, Timer, type TimerQueue } from "./timer-queue.js";

/** The most lengths that have lists. Timeouts of other lengths are timers like any other. */
const MOST_LISTS = 16;

/** A timeout in the list of its length. */
class ListedTimeout extends Timer {
  list: TimeoutList | undefined;
  previous: ListedTimeout | undefined;
  next: ListedTimeout | undefined = undefined;

  constructor(deadline: number, sequence: number, due: Due, list: TimeoutList) {
    super(deadline, sequence, due);
    this.list = list;
    this.previous = list.last;
  }

  override get pending(): boolean {
    return this.list !== undefined;
  }
}

class TimeoutList implements Due {
  first: ListedTimeout | undefined = undefined;
  last: ListedTimeout | undefined = undefined;
  /** Stands for the first one in the queue of timers. */
  timer: Timer | undefined = undefined;
  /** The first one was cancelled, so `timer` stands for none. */
  isStale = false;
  readonly #timeouts: CallTimeouts;

  constructor(timeouts: CallTimeouts) {
    this.#timeouts = timeouts;
  }

  fire(): void {
    const { first } = this;
    this.timer = undefined;
    if (first === undefined) return;
    this.#timeouts.remove(this, first);
    this.#timeouts.stand(this);
    first.due.fire();
  }
}

export class CallTimeouts {
  readonly #timers: TimerQueue;
  readonly #lists = new Map<number, TimeoutList>();
  #stale: TimeoutList[] = [];
  /** How many timeouts are in lists and have no timer of their own in the queue. */
  hidden = 0;

  constructor(timers: TimerQueue) {
    this.#timers = timers;
  }

  add(now: number, lengthMs: number, due: Due): Timer {
    const list = this.#lists.get(lengthMs) ?? this.#listOf(lengthMs);
    if (list === undefined) return this.#timers.add(now + lengthMs, due);
    const timeout = new ListedTimeout(now + lengthMs, this.#timers.number(), due, list);
    if (list.last === undefined) {
      list.first = timeout;
      list.last = timeout;
      this.stand(list);
    } else {
      list.last.next = timeout;
      list.last = timeout;
      this.hidden++;
    }
    return timeout;
  }

  /** False when it was cancelled or has fired before, or is none of these. */
  cancel(timeout: Timer): boolean {
    if (!(timeout instanceof ListedTimeout)) return this.#timers.cancel(timeout);
    const { list } = timeout;
    if (list === undefined) return false;
    const wasFirst = list.first === timeout;
    this.remove(list, timeout);
    if (list.first === undefined) {
      if (list.timer !== undefined) this.#timers.cancel(list.timer);
      list.timer = undefined;
    } else if (wasFirst && !list.isStale) {
      list.isStale = true;
      this.#stale.push(list);
    }
    return true;
  }

  /** Brings the queue of timers up to date. Called before anybody looks what is due first. */
  settle(): void {
    for (let list = this.#stale.pop(); list !== undefined; list = this.#stale.pop()) {
      list.isStale = false;
      if (list.timer !== undefined && list.timer.sequence === list.first?.sequence) continue;
      if (list.timer !== undefined) this.#timers.cancel(list.timer);
      this.stand(list);
    }
  }

  /** The first of a list gets its timer. */
  stand(list: TimeoutList): void {
    const { first } = list;
    list.timer = first && this.#timers.add(first.deadline, list, first.sequence);
  }

  /** Takes a timeout out of its list. */
  remove(list: TimeoutList, timeout: ListedTimeout): void {
    const { next, previous } = timeout;
    if (previous === undefined) list.first = next;
    else previous.next = next;
    if (next === undefined) list.last = previous;
    else next.previous = previous;
    if (list.first !== undefined) this.hidden--;
    timeout.list = undefined;
    timeout.previous = undefined;
    timeout.next = undefined;
  }

  #listOf(lengthMs: number): TimeoutList | undefined {
    if (this.#lists.size >= MOST_LISTS) {
      for (const [length, { first }] of this.#lists) if (first === undefined) this.#lists.delete(length);
      if (this.#lists.size >= MOST_LISTS) return undefined;
    }
    const list = new TimeoutList(this);
    this.#lists.set(lengthMs, list);
    return list;
  }
}
