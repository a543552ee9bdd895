// Gathers the batches of a route: the machine, its timers, and the messages that it holds.

import { OptionError } from "../../process/errors.js";
import type { BatchSettings } from "../definition/resolve.js";
import {
  type BatchingEffect,
  type BatchingEvent,
  type BatchingState,
  decide,
  initial,
} from "./batch-machine.js";
import type { Batch, Member } from "./processor-machine.js";

/** The parts of its processor that a batcher uses. */
export interface BatcherPort {
  bytesOf(value: unknown): number;
  /** Calls {@link Batcher.late} after a time; returns the call that cancels that. */
  lateAfter(ms: number, key: string): () => void;
  due(batch: Batch): void;
  /** The number of held messages has changed. */
  held(): void;
}

export class Batcher {
  readonly #settings: BatchSettings;
  readonly #port: BatcherPort;
  readonly #state: BatchingState<Member>;
  readonly #timers = new Map<string, () => void>();

  /** @param prefetch - at least so many messages may be held */
  constructor(settings: BatchSettings, prefetch: number, port: BatcherPort) {
    this.#settings = settings;
    this.#port = port;
    const { size, bytes, everyMs } = settings;
    this.#state = initial({ size, bytes, everyMs, mostHeld: Math.max(size, prefetch) });
  }

  get held(): number {
    return this.#state.held;
  }

  /** @throws OptionError when values of one message belong into different batches */
  add(member: Member): void {
    const { byKey, bytes } = this.#settings;
    const { items } = member;
    const key = byKey ? (items[0]?.key ?? "") : "";
    if (byKey && items.some((item) => (item.key ?? "") !== key))
      throw new OptionError(
        "key",
        items.map((item) => item.key),
        "the same for all values of a message: batches by key follow in a route of their own",
      );
    const size =
      bytes === Number.POSITIVE_INFINITY
        ? 0
        : items.reduce((sum, { value }) => sum + this.#port.bytesOf(value), 0);
    this.#take({ type: "add", key, item: { message: member, values: items.length, bytes: size } });
  }

  /** The time of the batch of a key is over. */
  late(key: string): void {
    this.#take({ type: "late", key });
  }

  /** All batches are due. */
  flush(): void {
    this.#take({ type: "flush" });
  }

  #take(event: BatchingEvent<Member>): void {
    for (const effect of decide(this.#state, event)[1]) this.#carryOut(effect);
    this.#port.held();
  }

  #carryOut(effect: BatchingEffect<Member>): void {
    switch (effect.type) {
      case "due": {
        const key = this.#settings.byKey && effect.key !== "" ? effect.key : undefined;
        this.#port.due({ key, members: effect.messages });
        return;
      }
      case "set timer": {
        const { key, ms } = effect;
        this.#timers.set(key, this.#port.lateAfter(ms, key));
        return;
      }
      case "cancel timer":
        this.#timers.get(effect.key)?.();
        this.#timers.delete(effect.key);
        return;
      default:
        effect satisfies never;
    }
  }

  /** Holds nothing any more: the ledger gives its messages out again. */
  close(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }
}
