// The first few of very many, without a list of the many: a bounded heap.

/**
 * The first N by a key, the largest key first, and the oldest first among equal keys. Items are numbered, and must be offered with
 * falling numbers, as a walk meets processes.
 *
 * It gives each item that may be among the first a slot, and takes the slot away for a better one. The caller keeps what it needs
 * of an item by its slot.
 *
 * Most processes of a system have nothing to show: their key is 0. A heap that keeps the oldest of equal items would replace one at
 * each of these. So zeros go into a ring: the last N zeros of the walk are the N oldest.
 */
export class FirstOf {
  /** Slots below `limit` belong to the heap, the others to the ring. */
  readonly #limit: number;
  readonly #keys: Float64Array;
  readonly #ids: Float64Array;
  /** The slots of the heap: the last of the items at the root. */
  readonly #heap: Int32Array;
  #size = 0;
  #zeros = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#keys = new Float64Array(2 * limit);
    this.#ids = new Float64Array(2 * limit);
    this.#heap = new Int32Array(limit);
  }

  /** The slot of the item, or -1 when it is not among the first. */
  offer(key: number, id: number): number {
    const limit = this.#limit;
    if (key === 0) {
      const slot = limit + (this.#zeros++ % limit);
      return this.#put(slot, 0, id);
    }
    if (this.#size < limit) {
      const slot = this.#put(this.#size, key, id);
      this.#heap[this.#size] = slot;
      this.#rise(this.#size++);
      return slot;
    }
    const last = this.#heap[0] as number;
    // Of equal keys the later one is the older one.
    if (key < (this.#keys[last] as number)) return -1;
    this.#put(last, key, id);
    this.#sink();
    return last;
  }

  /** The slots of the first items, the first first. */
  order(): number[] {
    const slots = [...this.#heap.subarray(0, this.#size)];
    for (let i = Math.min(this.#zeros, this.#limit) - 1; i >= 0; i--) slots.push(this.#limit + i);
    return slots.sort((a, b) => (this.#isBehind(a, b) ? 1 : -1)).slice(0, this.#limit);
  }

  #put(slot: number, key: number, id: number): number {
    this.#keys[slot] = key;
    this.#ids[slot] = id;
    return slot;
  }

  #isBehind(a: number, b: number): boolean {
    const keys = this.#keys;
    const [one, other] = [keys[a] as number, keys[b] as number];
    return one === other ? (this.#ids[a] as number) > (this.#ids[b] as number) : one < other;
  }

  #rise(from: number): void {
    const heap = this.#heap;
    const slot = heap[from] as number;
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#isBehind(slot, heap[above] as number)) break;
      heap[at] = heap[above] as number;
      at = above;
    }
    heap[at] = slot;
  }

  #sink(): void {
    const heap = this.#heap;
    const size = this.#size;
    const slot = heap[0] as number;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      if (below + 1 < size && this.#isBehind(heap[below + 1] as number, heap[below] as number)) below++;
      if (!this.#isBehind(heap[below] as number, slot)) break;
      heap[at] = heap[below] as number;
      at = below;
    }
    heap[at] = slot;
  }
}
