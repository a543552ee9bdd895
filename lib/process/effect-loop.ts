// The loop beside a pure machine: it holds the machine's state, and carries the effects out.

/**
 * Runs a machine `decide(state, event) -> [state, effects]`. The loop is flat: an event that comes up while an effect is
 * carried out waits behind the events before it, and behind the other effects of the same decision.
 */
export class EffectLoop<S, E, F> {
  #state: S;
  readonly #decide: (state: S, event: E) => readonly [S, readonly F[]];
  readonly #carryOut: (effect: F) => void;
  /** The event that waits, if one does, and those behind it: mostly there is none or one, which costs no array. */
  #next: E | undefined = undefined;
  readonly #later: E[] = [];
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

  /** Effects are being carried out. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /**
   * Lets the machine decide on an event, and carries out the effects. An error of an effect is thrown to the code that
   * dispatched the first event; the effects and events that remain are discarded, since the process crashes with that error.
   */
  dispatch(event: E): void {
    if (this.#isRunning) {
      if (this.#next === undefined) this.#next = event;
      else this.#later.push(event);
      return;
    }
    this.#isRunning = true;
    try {
      for (let now: E | undefined = event; now !== undefined; now = this.#take()) {
        const [state, effects] = this.#decide(this.#state, now);
        this.#state = state;
        for (const effect of effects) this.#carryOut(effect);
      }
    } finally {
      if (this.#next !== undefined) this.#discard();
      this.#isRunning = false;
    }
  }

  #take(): E | undefined {
    const event = this.#next;
    if (event !== undefined) this.#next = this.#later.length === 0 ? undefined : this.#later.shift();
    return event;
  }

  #discard(): void {
    this.#next = undefined;
    this.#later.length = 0;
  }
}
