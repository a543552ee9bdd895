// What a shell bolt's program holds: the tuples it was given and has not settled. Ids are numbers counted up, so an id
// that is not here was either settled or never given, and an error can say which. No process, no clock.

import { show } from "../../../process/errors.js";
import type { MessageId } from "../protocol/component-messages.js";

/** Tuples by their ids on the wire. A tick has an id but no tuple. */
export class HeldTuples<T> {
  readonly #held: Map<string, T | undefined> = new Map();
  #last = 0;

  /** How many are held. */
  get size(): number {
    return this.#held.size;
  }

  /** The id that a tuple goes under, as a text: some programs read large numbers inexactly. */
  give(tuple: T | undefined): string {
    const id = String(++this.#last);
    this.#held.set(id, tuple);
    return id;
  }

  /** The tuple of an id, which stays held; undefined for a tick. @throws Error when none is held under the id */
  find(id: MessageId): T | undefined {
    const key = String(id);
    const tuple = this.#held.get(key);
    if (tuple === undefined && !this.#held.has(key)) throw this.#missing(id);
    return tuple;
  }

  /** The tuple of an id, which is held no longer. @throws Error when none is held under the id */
  settle(id: MessageId): T | undefined {
    const tuple = this.find(id);
    this.#held.delete(String(id));
    return tuple;
  }

  #missing(id: MessageId): NotHeldError {
    const number = Number(id);
    const given =
      Number.isInteger(number) && number >= 1 && number <= this.#last && String(number) === String(id);
    return new NotHeldError(
      given
        ? `tuple ${show(id)}, which it had acked or failed before`
        : `tuple ${show(id)}, which it was never given`,
    );
  }
}

/** No tuple is held under an id. The text says why, as the end of a sentence. */
export class NotHeldError extends Error {}
