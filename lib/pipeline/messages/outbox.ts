// Sends messages of a store through a broker, and notes in the store that the broker has them. The store is first: a message that is not
// marked as sent is sent again, by whoever finds it.

import { EffectLoop } from "../../process/effect-loop.js";
import type { Kernel } from "../../process/kernel.js";
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

  /** Fulfilled when the broker has confirmed all. @throws CarrierError, QueueClosedError */
  async send(messages: readonly S[]): Promise<S[]> {
    const sent = await Promise.all(
      [...byQueue(messages)].map(([queue, some]) =>
        this.#channels.use(queue, async (channel) => {
          await this.#carrier.publish(
            channel,
            some.map((message) => this.#rows.letter(message)),
          );
          return some.map((message) => ({ ...message, channel }));
        }),
      ),
    );
    return sent.flat();
  }

  /** Notes that the broker has them. False: the store names another channel, so the broker may have lost what it has confirmed. */
  async mark(sent: readonly S[]): Promise<boolean> {
    for (const [queue, some] of byQueue(sent)) {
      const confirmed = new Set(some.map(({ channel }) => channel));
      const expect = [...confirmed].map((channel) => this.#rows.named(queue, channel ?? null));
      try {
        await this.#store.commit({ expect, writes: some.map((message) => this.#rows.marked(message)) });
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
        await this.#channels.look([queue]);
        return false;
      }
    }
    return true;
  }
}

function byQueue<S extends Sendable>(messages: readonly S[]): Map<string, S[]> {
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
  readonly kernel: Kernel;
  /** False: the rest stays marked as unsent, for whoever finds it. */
  goesOn(): boolean;
  ended(): void;
}

/** Carries out what outbox-machine.ts decides: publishes messages, and marks them. */
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
    const { kernel, goesOn, ended } = this.#settings;
    const fire = (): void => (goesOn() ? this.#follow(effect) : ended());
    if (effect.inMs > 0 && goesOn()) kernel.addTimer(effect.inMs, { fire });
    else fire();
  }

  #follow(effect: OutboxEffect<S>): void {
    this.#carryOut(effect).then(
      (event) => this.#tell(event),
      () => this.#tell({ type: "failed", roll: this.#settings.kernel.env.random() }),
    );
  }

  async #carryOut({ type, messages }: OutboxEffect<S>): Promise<OutboxEvent<S>> {
    const { outbox } = this.#settings;
    return type === "publish"
      ? { type: "confirmed", messages: await outbox.send(messages) }
      : { type: (await outbox.mark(messages)) ? "marked" : "void" };
  }
}
