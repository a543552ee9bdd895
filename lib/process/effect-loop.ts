// The loop beside a pure machine: it holds the machine's state, and carries the effects out.

/**
 * Runs a machine `decide(state, event) -> [state, effects]`. The loop is flat: an event that comes up while an effect is
 * carried out waits behind the events before it, and behind the other effects of the same decision.
 */
export class EffectLoop<S, E, F> {
  #state: S;
  readonly #decide: (state: S, event: E) => readonly [S, readonly F[]];
  readonly #carryOut: (effect: F) => void;
  readonly #events: E[] = [];
  #isRunning = false;

  constructor(
    initial: S,
    decide: (state: S, event: E) => readonly [S, readonly F[]],
    carryOut: (effect: F) => void,
  ) {
    this.#state = initial;
    this.#decide = decide;
    this.#carryOut = carryOut;
  }

  get state(): S {
    return this.#state;
  }

  /**
   * Lets the machine decide on an event, and carries out the effects. An error of an effect is thrown to the code that
   * dispatched the first event; the effects and events that remain are discarded, since the process crashes with that error.
   */
  dispatch(event: E): void {
    this.#events.push(event);
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const [state, effects] = this.#decide(this.#state, next);
        this.#state = state;
        for (const effect of effects) this.#carryOut(effect);
      }
    } finally {
      this.#events.length = 0;
      this.#isRunning = false;
    }
  }
}
