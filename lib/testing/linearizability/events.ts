// What the search for an order keeps: the events of operations not yet placed, and the configurations already visited.

/** An operation as the events of its beginning and its answer; Infinity for one without an answer. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** The list's head; also where its end leads. */
const HEAD = 0;

/** Events in their order as a doubly linked list, from which operations are lifted and to which they are restored. */
export class Events {
  /** By entry: the operation that begins there; for an answer, the complement of its operation. */
  readonly #whose: Int32Array;
  readonly #next: Int32Array;
  readonly #back: Int32Array;
  /** By operation: its entries; HEAD when it has no answer. */
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

  /** The operation that begins at this entry; of an answer, the complement of its operation, which is negative. */
  whose(entry: number): number {
    return this.#whose[entry] as number;
  }

  /** Takes the operation out. */
  lift(index: number): void {
    this.#unlink(this.#begin[index] as number);
    const end = this.#end[index] as number;
    if (end !== HEAD) this.#unlink(end);
  }

  /** Puts back the operation that was lifted last. */
  restore(index: number): void {
    const end = this.#end[index] as number;
    if (end !== HEAD) this.#relink(end);
    this.#relink(this.#begin[index] as number);
  }

  /** The operations that begin before the first answer: one of them comes next. */
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

  // An unlinked entry still knows its neighbours, which are again what they were then.
  #relink(entry: number): void {
    this.#next[this.#back[entry] as number] = entry;
    this.#back[this.#next[entry] as number] = entry;
  }
}

const FULL = 0xffff;

/** Which operations are placed, as bits; and every pair of such a set and a state that was ever reached. */
export class Visited {
  readonly #words: Uint16Array;
  /** Where a text is put together: strings that are built piece by piece take several times as long to look up. */
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

  /** Places one more, which leads to the state numbered `id`. False, and nothing placed, when that is nothing new. */
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

  /** The words without the full ones before and the empty ones after: in a long history few are neither. */
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
