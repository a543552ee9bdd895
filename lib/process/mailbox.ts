// The queue of one process. The first message sits in a field of its own; a ring is made only for the second one.

/** What `shift` gives when there is nothing: no message can be this. */
export const EMPTY: unique symbol = Symbol("empty");

const SMALLEST = 8;
const KEEP = 64;

/** A growing ring buffer: push and shift in constant time, removal anywhere for selective receive. */
class Ring {
  items: unknown[] = new Array(SMALLEST).fill(EMPTY);
  head = 0;
  size = 0;
  /** Depth of the mailbox at which to say so next; see {@link Mailbox.isDeep}. */
  mark = 0;

  push(item: unknown): void {
    if (this.size === this.items.length) this.grow();
    this.items[(this.head + this.size) & (this.items.length - 1)] = item;
    this.size++;
  }

  shift(): unknown {
    const item = this.items[this.head];
    this.items[this.head] = EMPTY;
    this.head = (this.head + 1) & (this.items.length - 1);
    this.size--;
    return item;
  }

  at(index: number): unknown {
    return this.items[(this.head + index) & (this.items.length - 1)];
  }

  removeAt(index: number): unknown {
    const mask = this.items.length - 1;
    const item = this.at(index);
    for (let i = index; i > 0; i--)
      this.items[(this.head + i) & mask] = this.items[(this.head + i - 1) & mask];
    this.items[this.head] = EMPTY;
    this.head = (this.head + 1) & mask;
    this.size--;
    return item;
  }

  private grow(): void {
    const old = this.items;
    const wider: unknown[] = new Array(old.length * 2).fill(EMPTY);
    for (let i = 0; i < this.size; i++) wider[i] = old[(this.head + i) & (old.length - 1)];
    this.items = wider;
    this.head = 0;
  }
}

/** First in, first out, with removal anywhere. A base class, so that a process and its mailbox are one object. */
export class Mailbox {
  protected first: unknown = EMPTY;
  private rest: Ring | undefined = undefined;

  /** Messages and signals waiting. */
  get depth(): number {
    return this.first === EMPTY ? 0 : 1 + (this.rest === undefined ? 0 : this.rest.size);
  }

  get isEmpty(): boolean {
    return this.first === EMPTY;
  }

  push(item: unknown): void {
    if (this.first === EMPTY) this.first = item;
    else if (this.rest === undefined) {
      this.rest = new Ring();
      this.rest.push(item);
    } else this.rest.push(item);
  }

  /** Takes the oldest entry, or {@link EMPTY}. */
  shift(): unknown {
    const item = this.first;
    const rest = this.rest;
    if (rest === undefined) {
      this.first = EMPTY;
    } else if (rest.size > 0) {
      this.first = rest.shift();
    } else {
      this.first = EMPTY;
      if (rest.items.length > KEEP) this.rest = undefined;
      else rest.mark = 0;
    }
    return item;
  }

  /** The entry at `index`, 0 being the oldest, without taking it. */
  peek(index: number): unknown {
    if (index === 0) return this.first;
    return this.rest === undefined || index > this.rest.size ? EMPTY : this.rest.at(index - 1);
  }

  /** Takes the entry at `index`, keeping the order of the others. */
  removeAt(index: number): unknown {
    if (index === 0) return this.shift();
    if (this.rest === undefined || index > this.rest.size) return EMPTY;
    return this.rest.removeAt(index - 1);
  }

  /** True once when `least` entries wait, and once at each doubling after that; anew when it has run empty. */
  protected isDeep(least: number): boolean {
    const { rest, depth } = this;
    if (rest === undefined || depth < least || depth < rest.mark) return false;
    rest.mark = depth * 2;
    return true;
  }

  /** Empties the mailbox and returns what was in it, oldest first. */
  drain(): unknown[] {
    const all: unknown[] = [];
    for (let item = this.shift(); item !== EMPTY; item = this.shift()) all.push(item);
    return all;
  }
}
