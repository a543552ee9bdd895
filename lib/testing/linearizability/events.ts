// The memory of the search: the events of operations not yet placed, and the configurations already visited.

/** The events of an operation's begin and answer; the end is Infinity without an answer. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** Head and end of the circular list. */
const HEAD = 0;

/** The events as a doubly linked list in time order. Operations can be removed, and restored in reverse order. */
export class Events {
  /** By entry: the index of the operation that begins there; for an answer, the index's complement. */
  readonly #whose: Int32Array;
  readonly #next: Int32Array;
  readonly #back: Int32Array;
  /** By operation: its two entries; HEAD for a missing answer. */
  readonly #begin: Int32Array;
  readonly #end: Int32Array;

  constructor(spans: readonly Span[]) {
    const events = spans
      .flatMap(({ begin, end }, index) => [
        { event: begin, index, begins: true },
        { event: end, index, begins: false },
      ])
      .filter(({ event }) => event !== Number.POSITIVE_INFINITY)
      .sort((a, b) => a.event - b.event);
    const size = events.length + 1;
    this.#whose = new Int32Array(size).fill(-1);
    this.#next = Int32Array.from({ length: size }, (_, entry) => (entry + 1) % size);
    this.#back = Int32Array.from({ length: size }, (_, entry) => (entry + size - 1) % size);
    this.#begin = new Int32Array(spans.length);
    this.#end = new Int32Array(spans.length);
    for (const [position, { index, begins }] of events.entries()) {
      const entry = position + 1;
      this.#whose[entry] = begins ? index : ~index;
      (begins ? this.#begin : this.#end)[index] = entry;
    }
  }

  first(): number {
    return this.#next[HEAD] as number;
  }

  after(entry: number): number {
    return this.#next[entry] as number;
  }

  /** The index of the operation that begins at this entry; for an answer the complement of the index, which is negative. */
  whose(entry: number): number {
    return this.#whose[entry] as number;
  }

  /** Removes the operation. */
  lift(index: number): void {
    this.#unlink(this.#begin[index] as number);
    const end = this.#end[index] as number;
    if (end !== HEAD) this.#unlink(end);
  }

  /** Restores the operation that was removed last. */
  restore(index: number): void {
    const end = this.#end[index] as number;
    if (end !== HEAD) this.#relink(end);
    this.#relink(this.#begin[index] as number);
  }

  /** The operations that begin before the first answer: one of them is next in the order. */
  open(): number[] {
    const open: number[] = [];
    for (let entry = this.first(); this.whose(entry) >= 0; entry = this.after(entry)) {
      open.push(this.whose(entry));
    }
    return open;
  }

  #unlink(entry: number): void {
    const [back, next] = [this.#back[entry] as number, this.#next[entry] as number];
    this.#next[back] = next;
    this.#back[next] = back;
  }

  // A removed entry still points to its neighbours, which are in the list again at this point.
  #relink(entry: number): void {
    this.#next[this.#back[entry] as number] = entry;
    this.#back[this.#next[entry] as number] = entry;
  }
}

const FULL = 0xffff;

/** The set of placed operations as bits, and all visited pairs of such a set and a state. */
export class Visited {
  readonly #words: Uint16Array;
  /** Buffer for keys: strings concatenated piece by piece take several times as long to look up. */
  readonly #unit: Uint16Array;
  readonly #seen = new Set<string>();

  constructor(operations: number) {
    this.#words = new Uint16Array(Math.ceil(operations / 16));
    this.#unit = new Uint16Array(this.#words.length + 3);
  }

  get size(): number {
    return this.#seen.size;
  }

  has(index: number): boolean {
    return ((this.#words[index >> 4] as number) & (1 << (index & 15))) !== 0;
  }

  /** Places one more operation, which leads to state `id`. Returns false, without placing, if the pair was visited before. */
  place(index: number, id: number): boolean {
    (this.#words[index >> 4] as number) |= 1 << (index & 15);
    const text = this.#text(id);
    if (this.#seen.has(text)) {
      this.remove(index);
      return false;
    }
    this.#seen.add(text);
    return true;
  }

  remove(index: number): void {
    (this.#words[index >> 4] as number) &= ~(1 << (index & 15));
  }

  /** The words without the full ones at the beginning and the empty ones at the end: a long history has few others. */
  #text(id: number): string {
    const words = this.#words;
    let from = 0;
    while (from < words.length && words[from] === FULL) from++;
    let to = words.length;
    while (to > from && words[to - 1] === 0) to--;
    const unit = this.#unit;
    unit[0] = id & FULL;
    unit[1] = id >>> 16;
    unit[2] = from;
    unit.set(words.subarray(from, to), 3);
    return String.fromCharCode.apply(null, unit.subarray(0, 3 + to - from) as unknown as number[]);
  }
}
