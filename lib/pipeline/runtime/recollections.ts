// What adapters of a route remember, with a lock on each key that a message in work has recalled. Without it two messages with one
// key, in work together, would both find that nothing is remembered. Nothing of a lock is stored: a crash leaves none behind.

import { orAborted } from "../../process/or-aborted.js";

/** A message that recalls: the signal of its attempt ends its wait. */
interface Reader {
  readonly signal: AbortSignal;
}

interface Lock {
  readonly holder: Reader;
  /** Settled when the holder is released. */
  readonly free: Promise<void>;
  readonly open: () => void;
}

/** A place that a message holds. */
interface Held {
  readonly place: string;
  readonly adapter: string;
  readonly key: string;
}

/** The memory of the adapters of one route, over the ledger of its execution. */
export class Recollections {
  readonly #read: (adapter: string, key: string) => Promise<unknown>;
  readonly #locks = new Map<string, Lock>();
  readonly #held = new Map<Reader, Held[]>();
  readonly #forget: (adapter: string, key: string) => void;

  /**
   * @param read - reads the remembered value, and sees steps that were submitted before the call
   * @param forget - called when a message that has read it is released
   */
  constructor(
    read: (adapter: string, key: string) => Promise<unknown>,
    forget: (adapter: string, key: string) => void = () => undefined,
  ) {
    this.#read = read;
    this.#forget = forget;
  }

  /** Reads the remembered value, once no other message holds the key. The reader holds it then, until it is released. */
  async recall(adapter: string, key: string, reader: Reader): Promise<unknown> {
    const place = JSON.stringify([adapter, key]);
    for (let lock = this.#locks.get(place); lock !== undefined; lock = this.#locks.get(place)) {
      if (lock.holder === reader) return this.#read(adapter, key);
      await orAborted(lock.free, reader.signal);
    }
    reader.signal.throwIfAborted();
    const { promise, open } = opening();
    this.#locks.set(place, { holder: reader, free: promise, open });
    const held = this.#held.get(reader);
    const of = { place, adapter, key };
    if (held === undefined) this.#held.set(reader, [of]);
    else held.push(of);
    return this.#read(adapter, key);
  }

  /** Frees the keys that the reader holds. */
  release(reader: Reader): void {
    const held = this.#held.get(reader);
    if (held === undefined) return;
    this.#held.delete(reader);
    for (const { place, adapter, key } of held) {
      this.#forget(adapter, key);
      const lock = this.#locks.get(place);
      this.#locks.delete(place);
      lock?.open();
    }
  }
}

function opening(): { readonly promise: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
