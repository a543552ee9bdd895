// Sends messages of a store through a broker, and notes in the store that the broker has them. The store is first: a message that is not
// marked as sent is sent again, by whoever finds it.

import { EffectLoop } from "../../process/effect-loop.js";
import { ConflictError, type RowExpectation, type Store, type Write } from "../../store/index.js";
import type { Carrier, Letter } from "./carrier.js";
import type { Channels } from "./channels.js";
import { MESSAGE_LIMITS } from "./limits.js";
import { decide, initial, type OutboxEffect, type OutboxEvent, type OutboxState } from "./outbox-machine.js";

/** What is to be sent of a message. The broker gets its place alone: the store has the rest, however large it is. */
export interface Sendable {
  readonly queue: string;
  /** Another one whenever the message becomes ready again, so that a late mark of an earlier round marks nothing. */
  readonly round: number;
  /** The channel that has confirmed it. */
  readonly channel?: string;
}

/** The rows of the messages that an outbox sends. */
export interface OutboxRows<S extends Sendable> {
  /** The letter of a message. Another sender gives it another id: then the store drops the second one that is delivered. */
  letter(message: S): Letter;
  /** Marks the message as sent, if it is of the same round still. */
  marked(message: S): Write;
  /** The store names this channel for the queue. */
  named(queue: string, channel: string | null): RowExpectation;
}

export class Outbox<S extends Sendable> {
  readonly #store: Store;
  readonly #carrier: Carrier;
  readonly #channels: Channels;
  readonly #rows: OutboxRows<S>;

  constructor(store: Store, carrier: Carrier, channels: Channels, rows: OutboxRows<S>) {
    this.#store = store;
    this.#carrier = carrier;
    this.#channels = channels;
    this.#rows = rows;
  }

  /** Fulfilled when the broker has confirmed all of these messages of a queue. @throws CarrierError, QueueClosedError */
  send(queue: string, messages: readonly S[]): Promise<S[]> {
    return this.#channels.use(queue, async (channel) => {
      await this.#carrier.publish(
        channel,
        messages.map((message) => this.#rows.letter(message)),
      );
      return messages.map((message) => ({ ...message, channel }));
    });
  }

  /** Notes that the broker has them. False: the store names another channel, so the broker may have lost what it has confirmed. */
  async mark(queue: string, sent: readonly S[]): Promise<boolean> {
    const confirmed = new Set(sent.map(({ channel }) => channel));
    const expect = [...confirmed].map((channel) => this.#rows.named(queue, channel ?? null));
    try {
      await this.#store.commit({ expect, writes: sent.map((message) => this.#rows.marked(message)) });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      await this.#channels.lookAt(queue);
      return false;
    }
    return true;
  }
}

/** The messages of each queue, in their order. */
export function byQueue<S extends Pick<Sendable, "queue">>(
  messages: readonly S[],
): ReadonlyMap<string, readonly S[]> {
  const all = new Map<string, S[]>();
  for (const message of messages) {
    const some = all.get(message.queue);
    if (some === undefined) all.set(message.queue, [message]);
    else some.push(message);
  }
  return all;
}

/** What carrying out uses of its surroundings. */
interface ShipmentSettings<S extends Sendable> {
  readonly outbox: Outbox<S>;
  readonly queue: string;
  /** Calls `fn` after this time, in milliseconds. */
  after(inMs: number, fn: () => void): void;
  /** 0 or more, less than 1. */
  random(): number;
  /** False: the rest stays marked as unsent, for whoever finds it. */
  goesOn(): boolean;
  ended(): void;
}

/**
 * Carries out what outbox-machine.ts decides: publishes messages, and marks them. They are of one queue, so that a queue whose channel
 * cannot be opened keeps no messages of others back.
 */
export class Shipment<S extends Sendable> {
  readonly #settings: ShipmentSettings<S>;
  readonly #loop: EffectLoop<OutboxState<S>, OutboxEvent<S>, OutboxEffect<S>>;

  constructor(settings: ShipmentSettings<S>) {
    this.#settings = settings;
    const begin = initial<S>(MESSAGE_LIMITS.again);
    this.#loop = new EffectLoop(begin, decide<S>, (effect) => this.#later(effect));
  }

  /** Called once. */
  send(messages: readonly S[]): void {
    this.#tell({ type: "send", messages });
  }

  #tell(event: OutboxEvent<S>): void {
    this.#loop.dispatch(event);
    if (this.#loop.state.phase === "ended") this.#settings.ended();
  }

  #later(effect: OutboxEffect<S>): void {
    const { after, goesOn, ended } = this.#settings;
    const begin = (): void => (goesOn() ? this.#follow(effect) : ended());
    if (effect.inMs > 0 && goesOn()) after(effect.inMs, begin);
    else begin();
  }

  #follow(effect: OutboxEffect<S>): void {
    this.#carryOut(effect).then(
      (event) => this.#tell(event),
      () => this.#tell({ type: "failed", roll: this.#settings.random() }),
    );
  }

  async #carryOut({ type, messages }: OutboxEffect<S>): Promise<OutboxEvent<S>> {
    const { outbox, queue } = this.#settings;
    return type === "publish"
      ? { type: "confirmed", messages: await outbox.send(queue, messages) }
      : { type: (await outbox.mark(queue, messages)) ? "marked" : "void" };
  }
}
