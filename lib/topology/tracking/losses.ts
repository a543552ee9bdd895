// The tuples that window tasks have lost and will get again: tuples that failed in their mailboxes or in their hands, each
// with its time and the spout's tuple that it descends from. While such a tuple is outstanding, no window that ends after
// its time is handed over. There is no clock: the caller passes the time.

import { type Loss, type PendingTuple, traceOf } from "./pending-tuple.js";

export class Losses {
  private readonly patienceMs: number;
  /** A heap, the earliest time first. */
  private readonly heap: Loss[] = [];

  /** @param patienceMs - how long a lost tuple is waited for */
  constructor(patienceMs: number) {
    this.patienceMs = patienceMs;
  }

  /** A tuple was lost. Its spout may emit the tuple that it descends from again. */
  add(time: number, pending: PendingTuple, lo: number, now: number): void {
    if (isOver(pending)) return;
    const loss = this.find(time, pending);
    if (loss.lostOf !== lo) loss.lost = 0;
    loss.lostOf = lo;
    loss.need = Math.max(loss.need, ++loss.lost);
    if (loss.cameOf === lo && loss.came > 0) loss.came--;
    loss.since = now;
    if (loss.came >= loss.need || loss.queued) return;
    loss.queued = true;
    this.push(loss);
  }

  /** A tuple of another try has come. Returns whether it was outstanding. */
  came(time: number, pending: PendingTuple, lo: number): boolean {
    const loss = this.find(time, pending);
    const wanted = loss.came < loss.need;
    if (loss.cameOf !== lo) loss.came = 0;
    loss.cameOf = lo;
    loss.came++;
    return wanted;
  }

  /** The earliest time of an outstanding tuple; Infinity when there is none. */
  earliest(now: number): number {
    for (let first = this.heap[0]; first !== undefined; first = this.heap[0]) {
      const { came, need, pending, since, time } = first;
      if (came < need && !isOver(pending) && now - since < this.patienceMs) return time;
      first.queued = false;
      this.pop();
    }
    return Number.POSITIVE_INFINITY;
  }

  /** The loss is kept with the spout's tuple, and forgotten with it. */
  private find(time: number, pending: PendingTuple): Loss {
    const { losses } = traceOf(pending);
    let loss = losses.find((one) => one.table === this && one.time === time);
    if (loss === undefined) {
      loss = {
        table: this,
        time,
        pending,
        since: 0,
        need: 0,
        lostOf: 0,
        lost: 0,
        cameOf: 0,
        came: 0,
        queued: false,
      };
      losses.push(loss);
    }
    return loss;
  }

  private push(loss: Loss): void {
    const { heap } = this;
    let at = heap.length;
    for (let up = (at - 1) >> 1; at > 0 && (heap[up] as Loss).time > loss.time; up = (at - 1) >> 1) {
      heap[at] = heap[up] as Loss;
      at = up;
    }
    heap[at] = loss;
  }

  /** Takes out the first. */
  private pop(): void {
    const { heap } = this;
    const last = heap.pop() as Loss;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && (heap[down + 1] as Loss).time < (heap[down] as Loss).time) down++;
      if ((heap[down] as Loss).time >= last.time) break;
      heap[at] = heap[down] as Loss;
      at = down;
    }
    heap[at] = last;
  }
}

/** The tuple is acked, has failed for good, or is in flight as a dead letter: its descendants do not come again. */
function isOver(pending: PendingTuple): boolean {
  return pending.settled || pending.deadBecause !== undefined;
}
