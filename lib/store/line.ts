// The line of transactions of users: line-machine.ts decides, and this notifies the waiting transactions.

import { decide, initial, type LineEvent, type TurnEnd } from "./line-machine.js";

/** A place in the line, and then a turn. */
export interface Ticket {
  /** Fulfilled when its turn has come. Rejected: there is no connection, as another turn has found. */
  readonly granted: Promise<void>;
  /** Its turn is over, or it gives up its place. Only the first call counts. */
  leave(end: TurnEnd, error?: unknown): void;
}

interface Waiting {
  go(): void;
  refuse(error: unknown): void;
}

export class Line {
  #state;
  #last = 0;
  readonly #waiting = new Map<number, Waiting>();

  /** @param most - transactions at once, at most */
  constructor(most: number) {
    this.#state = initial(most);
  }

  /** @param overtaken - how often it was overtaken before */
  join(overtaken: number): Ticket {
    const id = ++this.#last;
    const granted = new Promise<void>((go, refuse) => {
      this.#waiting.set(id, { go, refuse });
    });
    // The waiter may have left: then a rejection must not count as unhandled.
    granted.catch(() => {});
    this.#event({ type: "joined", id, overtaken });
    let isOver = false;
    return {
      granted,
      leave: (end, error) => {
        if (isOver) return;
        isOver = true;
        this.#waiting.delete(id);
        this.#event({ type: "left", id, end }, error);
      },
    };
  }

  #event(event: LineEvent, error?: unknown): void {
    const [state, effects] = decide(this.#state, event);
    this.#state = state;
    for (const { type, id } of effects) {
      const one = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (type === "go") one?.go();
      else one?.refuse(error);
    }
  }
}
