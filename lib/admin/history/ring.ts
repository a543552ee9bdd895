// The last so many items of a sequence, in the order of their numbers.

export class Ring<T extends { readonly number: number }> {
  readonly capacity: number;
  readonly #items: T[] = [];
  /** Where the oldest is, once the ring is full. */
  #first = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The item at this place, from the oldest on. */
  at(place: number): T | undefined {
    return place < this.size ? this.#items[(this.#first + place) % this.size] : undefined;
  }

  /** Adds an item with a higher number than all others. Returns the oldest if that has to go. */
  add(item: T): T | undefined {
    if (this.size < this.capacity) {
      this.#items.push(item);
      return undefined;
    }
    const oldest = this.#items[this.#first];
    this.#items[this.#first] = item;
    this.#first = (this.#first + 1) % this.capacity;
    return oldest;
  }

  /** The place of the first item with a higher number. */
  firstBehind(number: number): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.at(middle) as T).number <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
