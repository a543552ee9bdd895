// Turns: steps that each have something for themselves, one after another, in the order in which they came.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Runs `step` when all earlier steps have ended. */
  take<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#waiting++ === 0 ? step() : this.#last.then(step);
    const over = (): void => {
      this.#waiting--;
    };
    this.#last = turn.then(over, over);
    return turn;
  }
}
