// The tuples that a task with windows has lost and will get again: tuples that failed in its mailbox or in its hands. While
// such a tuple is outstanding, the task hands over no window that ends after the tuple's time. There is no clock: the caller
// passes the time.

import type { PendingTuple } from "./pending-tuple.js";
import type { Place } from "./places.js";

/** The lost tuples of one task, which outlive its processes. */
export class Losses {
  readonly #patienceMs: number;
  /** A heap, the earliest time first. */
  readonly #heap: Place[] = [];

  /** @param patienceMs - how long a lost tuple is waited for */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** A tuple was lost. Its spout may emit the tuple that it descends from again. */
  add(place: Place, now: number): void {
    if (place.done || isOver(place.pending)) return;
    place.isLost = true;
    place.since = now;
    if (place.queued) return;
    place.queued = true;
    this.#push(place);
  }

  /** The earliest time of an outstanding tuple; Infinity when there is none. @param task - that these are the losses of */
  earliest(task: number, now: number): number {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const { isLost, pending, since, time } = first;
      const isHere = first.task === task;
      if (isLost && isHere && !isOver(pending) && now - since < this.#patienceMs) return time;
      if (isHere) first.queued = false;
      this.#pop();
    }
    return Number.POSITIVE_INFINITY;
  }

  #push(place: Place): void {
    const heap = this.#heap;
    let at = heap.length;
    for (let up = (at - 1) >> 1; at > 0 && (heap[up] as Place).time > place.time; up = (at - 1) >> 1) {
      heap[at] = heap[up] as Place;
      at = up;
    }
    heap[at] = place;
  }

  /** Takes out the first. */
  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Place;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && (heap[down + 1] as Place).time < (heap[down] as Place).time) down++;
      if ((heap[down] as Place).time >= last.time) break;
      heap[at] = heap[down] as Place;
      at = down;
    }
    heap[at] = last;
  }
}

/** The tuple is acked, has failed for good, or is in flight as a dead letter: its descendants do not come again. */
function isOver(pending: PendingTuple): boolean {
  return pending.settled || pending.deadBecause !== undefined;
}
