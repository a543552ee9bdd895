// The tuples that the program of a shell bolt holds: given to the program, and neither acked nor failed yet. Ids count
// up from 1, so an id that is not held was either settled or never given, and an error can say which.

import { show } from "../../../process/show.js";
import type { MessageId } from "../protocol/component-messages.js";

/** A held tuple. A tick is held under an id too, and has no tuple. */
export interface Held<T> {
  readonly tuple: T | undefined;
}

/** Tuples by their ids on the wire. */
export class HeldTuples<T> {
  readonly #held: Map<string, Held<T>> = new Map();
  #last = 0;

  get size(): number {
    return this.#held.size;
  }

  /** Holds a tuple under a new id. The id is a text because some programs read large numbers inexactly. */
  add(tuple: T | undefined): string {
    const id = String(++this.#last);
    this.#held.set(id, { tuple });
    return id;
  }

  find(id: MessageId): Held<T> | undefined {
    return this.#held.get(String(id));
  }

  /** Holds the tuple of an id no longer, and returns the tuple. */
  settle(id: MessageId): Held<T> | undefined {
    const held = this.find(id);
    if (held !== undefined) this.#held.delete(String(id));
    return held;
  }

  /** Why nothing is held under an id, as the end of a sentence. */
  whyMissing(id: MessageId): string {
    const number = Number(id);
    const wasGiven =
      Number.isInteger(number) && number >= 1 && number <= this.#last && String(number) === String(id);
    return wasGiven
      ? `tuple ${show(id)}, which it had acked or failed before`
      : `tuple ${show(id)}, which it was never given`;
  }
}
