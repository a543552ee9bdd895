// Back-pressure of starts: so many are on their way at a time, and the others wait for their turn, the first first.

export class Turns {
  readonly #most: number;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];
  #first = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Does something in its turn. */
  async take<T>(act: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#most) this.#taken++;
    else await new Promise<void>((go) => this.#waiting.push(go));
    try {
      return await act();
    } finally {
      this.#next();
    }
  }

  /** The turn goes to the one that waits for the longest. */
  #next(): void {
    const go = this.#waiting[this.#first];
    if (go === undefined) {
      this.#waiting.length = 0;
      this.#first = 0;
      this.#taken--;
      return;
    }
    this.#first++;
    go();
  }
}
