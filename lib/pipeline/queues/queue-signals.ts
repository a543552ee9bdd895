// The signals of a queue: what is due in the store, and what the subscribers of this program hold. See HostSignals.

import {
  type DueSignals,
  type HostSignals,
  LOOKED_AT,
  MOST_DUE,
  oldestOf,
  type PlaceSignals,
  SignalLooks,
} from "../../host/signals.js";
import type { Kernel } from "../../process/kernel.js";
import { outside } from "../../process/origin.js";
import type { Store } from "../../store/index.js";
import type { QueueStore } from "./queue-store.js";
import { queued } from "./tables.js";

/**
 * The messages of a queue that are ready, and those that were delayed and whose time has come, by their indexes.
 *
 * Ready messages are in the order of their publication, and not of their waits: a message that was tried before has waited since its last
 * attempt. So the oldest is one of the first, or the first behind them that was never tried.
 */
export async function dueInQueue(
  store: Pick<Store, "count" | "scan">,
  name: string,
  now: number,
): Promise<DueSignals> {
  const ready = { index: "ready", prefix: [name] };
  const delayed = { index: "due", prefix: [name], below: now + 1 };
  const [waiting, woken, first, next] = await Promise.all([
    store.count(queued, { ...ready, atMost: MOST_DUE }),
    store.count(queued, { ...delayed, atMost: MOST_DUE }),
    store.scan(queued, { ...ready, limit: LOOKED_AT }),
    store.scan(queued, { ...delayed, limit: 1 }),
  ]);
  const last = first.at(LOOKED_AT - 1)?.number;
  const range = last === undefined ? undefined : { after: last, below: last + MOST_DUE };
  const isBehind = range !== undefined && first.every(({ attempts }) => attempts > 0);
  const untried = { ...ready, ...range, where: { attempts: 0 }, limit: 1 };
  const behind = isBehind ? await store.scan(queued, untried) : [];
  const since = [...first, ...next, ...behind].map(({ due }) => due);
  return { due: Math.min(MOST_DUE, waiting + woken), oldestDueMs: oldestOf(now, since) };
}

/** The signals of one queue in one program. The pages of metrics have them as long as there are subscribers here. */
export class QueueSignals {
  readonly #kernel: Kernel;
  readonly #queue: QueueStore;
  readonly #subscribers = new Set<() => PlaceSignals>();
  #looks: SignalLooks | undefined;

  constructor(kernel: Kernel, queue: QueueStore) {
    this.#kernel = kernel;
    this.#queue = queue;
  }

  async read(): Promise<HostSignals> {
    const { store, name, time } = this.#queue;
    await time.read();
    const found = await dueInQueue(store, name, time.now());
    let [room, held] = [0, 0];
    for (const places of this.#subscribers) {
      const one = places();
      room += one.room;
      held += one.held;
    }
    return { ...found, room, held };
  }

  /** Counts a subscriber. Returns the call that ends that. */
  readonly count = (places: () => PlaceSignals): (() => void) => {
    this.#subscribers.add(places);
    this.#looks ??= this.#show();
    return () => {
      this.#subscribers.delete(places);
      if (this.#subscribers.size > 0) return;
      this.#looks?.close();
      this.#looks = undefined;
    };
  };

  #show(): SignalLooks {
    const looks: SignalLooks = new SignalLooks({
      ...{ kernel: this.#kernel, kind: "queues", host: this.#queue.name },
      read: () => this.read(),
      // Outside the process that makes the page.
      ask: () => outside(() => void looks.wanted()),
    });
    return looks;
  }
}
