// Names under which later incidents find the one that they came from: those that were given last.

interface Cause {
  number: number;
  place: number;
}

export class Causes {
  readonly #byName = new Map<string, Cause>();
  /** By the order in which they were given. A map that forgets its first name again and again would look through all that it has forgotten. */
  readonly #names: (string | undefined)[] = [];
  readonly #most: number;
  #next = 0;

  /** @param most - names given last that are known */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): number | undefined {
    return this.#byName.get(name)?.number;
  }

  set(name: string, number: number): void {
    const known = this.#byName.get(name);
    if (known !== undefined) this.#names[known.place] = undefined;
    const place = this.#next;
    this.#next = (place + 1) % this.#most;
    const oldest = this.#names[place];
    if (oldest !== undefined) this.#byName.delete(oldest);
    this.#names[place] = name;
    if (known === undefined) this.#byName.set(name, { number, place });
    else {
      known.number = number;
      known.place = place;
    }
  }

  delete(name: string): void {
    const known = this.#byName.get(name);
    if (known === undefined) return;
    this.#names[known.place] = undefined;
    this.#byName.delete(name);
  }

  clear(): void {
    this.#byName.clear();
    this.#names.length = 0;
    this.#next = 0;
  }
}
