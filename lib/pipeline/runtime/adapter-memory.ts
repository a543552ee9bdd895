// The memory of the adapters of a route, with a lock on each key that a message in work has recalled. Without it two messages with one
// key, in work together, would both find that nothing is remembered. Nothing of a lock is stored: a crash leaves none behind.

import { orAborted } from "../../process/or-aborted.js";
import type { Ledger } from "../ledger/ledger.js";

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

/** A slot that a message holds. */
interface HeldKey {
  readonly slot: string;
  readonly adapter: string;
  readonly key: string;
}

/** The memory of the adapters of one route, over the ledger of its execution. */
export class AdapterMemory {
  readonly #ledger: Pick<Ledger, "recall" | "forget">;
  readonly #locks = new Map<string, Lock>();
  readonly #held = new Map<Reader, HeldKey[]>();

  constructor(ledger: Pick<Ledger, "recall" | "forget">) {
    this.#ledger = ledger;
  }

  /** Reads the remembered value, once no other message holds the key. The reader holds it then, until it is released. */
  async recall(adapter: string, key: string, reader: Reader): Promise<unknown> {
    const slot = JSON.stringify([adapter, key]);
    for (let lock = this.#locks.get(slot); lock !== undefined; lock = this.#locks.get(slot)) {
      if (lock.holder === reader) return this.#ledger.recall(adapter, key);
      await orAborted(lock.free, reader.signal);
    }
    reader.signal.throwIfAborted();
    const { promise, open } = opening();
    this.#locks.set(slot, { holder: reader, free: promise, open });
    const held = this.#held.get(reader);
    const of = { slot, adapter, key };
    if (held === undefined) this.#held.set(reader, [of]);
    else held.push(of);
    return this.#ledger.recall(adapter, key);
  }

  /** Frees the keys that the reader holds. */
  release(reader: Reader): void {
    const held = this.#held.get(reader);
    if (held === undefined) return;
    this.#held.delete(reader);
    for (const { slot, adapter, key } of held) {
      this.#ledger.forget(adapter, key);
      const lock = this.#locks.get(slot);
      this.#locks.delete(slot);
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
