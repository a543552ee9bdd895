// Pending timers in a binary heap. Each timer stores its place in the heap, so adding and cancelling take logarithmic
// time at worst, and constant time for the common timeout that is set last and cancelled soon. Timers are ordered by
// deadline, then by creation.

/** The action of a pending timer. `fire` is called when the timer is due. */
export interface Due {
  fire(): void;
}

export class Timer {
  /** The place in the heap, or -1 when the timer is not pending. */
  index = -1;
  readonly deadline: number;
  readonly sequence: number;
  readonly due: Due;

  constructor(deadline: number, sequence: number, due: Due) {
    this.deadline = deadline;
    this.sequence = sequence;
    this.due = due;
  }

  get pending(): boolean {
    return this.index >= 0;
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.deadline < b.deadline || (a.deadline === b.deadline && a.sequence < b.sequence);
}

export class TimerQueue {
  private readonly heap: Timer[] = [];
  private sequence = 0;

  get size(): number {
    return this.heap.length;
  }

  /** Deadline of the first timer to fire, in the Environment's milliseconds. */
  get next(): number | undefined {
    return this.heap[0]?.deadline;
  }

  /** The place in the order of creation of a timer that is made later. */
  number(): number {
    return this.sequence++;
  }

  add(deadline: number, due: Due, sequence: number = this.sequence++): Timer {
    const timer = new Timer(deadline, sequence, due);
    this.insert(timer);
    return timer;
  }

  protected insert(timer: Timer): void {
    this.heap.push(timer);
    this.rise(timer, this.heap.length - 1);
  }

  /** Removes the timer. Returns false when the timer has already fired or been cancelled. */
  cancel(timer: Timer): boolean {
    return this.remove(timer);
  }

  private remove(timer: Timer): boolean {
    const index = timer.index;
    if (index < 0) return false;
    timer.index = -1;
    const last = this.heap.pop() as Timer;
    if (last !== timer) {
      this.rise(last, index);
      if (last.index === index) this.sink(last, index);
    }
    return true;
  }

  /** Removes and returns the first timer if its deadline is not after `now`. */
  take(now: number): Timer | undefined {
    const first = this.heap[0];
    if (first === undefined || first.deadline > now) return undefined;
    this.remove(first);
    return first;
  }

  private rise(timer: Timer, from: number): void {
    const heap = this.heap;
    let index = from;
    while (index > 0) {
      const up = (index - 1) >> 1;
      const parent = heap[up] as Timer;
      if (!before(timer, parent)) break;
      heap[index] = parent;
      parent.index = index;
      index = up;
    }
    heap[index] = timer;
    timer.index = index;
  }

  private sink(timer: Timer, from: number): void {
    const heap = this.heap;
    const size = heap.length;
    let index = from;
    for (;;) {
      let down = 2 * index + 1;
      if (down >= size) break;
      const right = down + 1;
      if (right < size && before(heap[right] as Timer, heap[down] as Timer)) down = right;
      const child = heap[down] as Timer;
      if (!before(child, timer)) break;
      heap[index] = child;
      child.index = index;
      index = down;
    }
    heap[index] = timer;
    timer.index = index;
  }
}
