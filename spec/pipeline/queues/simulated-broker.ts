// A broker for the simulator that behaves as JetStream does: an acknowledgement names a channel and a place in it, and is confirmed
// whether there is a letter or not; what is not acknowledged comes again; everything may be forgotten at once.

import type { Simulation } from "signalbox/testing";
import type {
  Carrier,
  CarrierContext,
  CarrierSource,
  Consumption,
  Letter,
} from "../../../lib/pipeline/messages/carrier.js";
import { CarrierError, ChannelGoneError } from "../../../lib/pipeline/messages/errors.js";

const LABEL = "the simulated broker";
/** How long a delivery may stay unacknowledged. */
const ACK_WAIT_MS = 1_000;
const RETRY_MS = 200;

interface Stored {
  readonly body: string;
  /** When it may be delivered again. */
  from: number;
}

class Room {
  next = 1;
  readonly letters = new Map<number, Stored>();
  readonly ids = new Set<string>();
}

export interface BrokerOptions {
  /** Most requests whose effect or answer is lost. */
  readonly failures?: number;
  /** Acknowledgements from before it forgot settle what has their places now, as they do where channels have one name for ever. */
  readonly confuses?: boolean;
  /** Channels with this in their names cannot be made. */
  readonly refuses?: string;
}

export class SimulatedBroker {
  readonly #sim: Simulation;
  readonly #options: BrokerOptions;
  #refuses: string | undefined;
  readonly #rooms = new Map<string, Room>();
  /** How often a channel that was there before was made again. */
  remade = 0;
  /** How often each letter was published, by channel and text. */
  readonly published: Map<string, number> = new Map();
  /** How many acknowledgements were asked for. */
  acks = 0;
  readonly #made = new Set<string>();

  constructor(sim: Simulation, options: BrokerOptions = {}) {
    this.#sim = sim;
    this.#options = options;
    this.#refuses = options.refuses;
  }

  /** Refuses no channels any more. */
  accept(): void {
    this.#refuses = undefined;
  }

  /** Loses everything. */
  forget(): void {
    this.#rooms.clear();
  }

  /** Loses the letters, and keeps the channels. */
  lose(): void {
    for (const { letters } of this.#rooms.values()) letters.clear();
  }

  /** How many letters it has, in all channels. */
  get letters(): number {
    return [...this.#rooms.values()].reduce((count, { letters }) => count + letters.size, 0);
  }

  source(): CarrierSource {
    return { label: LABEL, open: (context) => Promise.resolve(this.#open(context)) };
  }

  #open(context: CarrierContext): Carrier {
    const { failures: atMost } = this.#options;
    const failure = new CarrierError(LABEL, "did not answer", new Error("time-out"));
    const failing = atMost === undefined ? {} : { failures: [failure], atMost };
    const io = <A extends readonly unknown[], R>(name: string, fn: (...args: A) => R) =>
      this.#sim.io(`broker.${name}`, fn, failing);
    const requests = {
      make: io("make", (channel: string) => this.#make(channel)),
      remove: io("remove", (channel: string) => void this.#rooms.delete(channel)),
      publish: io("publish", (channel: string, letters: readonly Letter[]) =>
        this.#publish(channel, letters),
      ),
      isEmpty: io("isEmpty", (channel: string) => this.#room(channel).letters.size === 0),
      // Confirmed also if there is no letter: that is the trap.
      ack: io("ack", (channel: string, place: number) => this.#ack(channel, place)),
    };
    const pull = this.#sim.io("broker.pull", (channel: string) => this.#pull(channel, context));
    return {
      ...requests,
      label: LABEL,
      limitBytes: 1_000,
      consume: (channel, _prefetch, deliver, gone) => {
        let isClosed = false;
        const run = async (): Promise<void> => {
          while (!isClosed) {
            const one = await pull(channel);
            if (isClosed) return;
            if (one === undefined) await new Promise<void>((resolve) => context.after(RETRY_MS, resolve));
            else
              await deliver({
                body: one.body,
                ackUnconfirmed: () => {
                  this.acks++;
                  requests.ack(channel, one.place).catch(() => undefined);
                },
                nak: (delayMs) => this.#nak(channel, one.place, context.environment.now() + delayMs),
              });
          }
        };
        run().catch(() => {
          if (!isClosed) gone();
        });
        const consumption: Consumption = {
          close: () => {
            isClosed = true;
            return Promise.resolve();
          },
        };
        return consumption;
      },
      close: () => Promise.resolve(),
    };
  }

  #room(channel: string): Room {
    const room = this.#rooms.get(channel);
    if (room === undefined) throw new ChannelGoneError(LABEL, channel);
    return room;
  }

  #ack(channel: string, place: number): void {
    if (this.#options.confuses === true)
      for (const { letters } of this.#rooms.values()) letters.delete(place);
    else this.#room(channel).letters.delete(place);
  }

  #make(channel: string): void {
    if (this.#refuses !== undefined && channel.includes(this.#refuses))
      throw new CarrierError(LABEL, "made no channel", new Error("its configuration is refused"));
    if (this.#made.has(channel) && !this.#rooms.has(channel)) this.remade++;
    this.#made.add(channel);
    if (!this.#rooms.has(channel)) this.#rooms.set(channel, new Room());
  }

  #publish(channel: string, letters: readonly Letter[]): void {
    const room = this.#room(channel);
    for (const { id, body } of letters) {
      const name = `${channel} ${body}`;
      this.published.set(name, (this.published.get(name) ?? 0) + 1);
      if (room.ids.has(id)) continue;
      room.ids.add(id);
      room.letters.set(room.next++, { body, from: 0 });
    }
  }

  #pull(channel: string, { environment }: CarrierContext): { place: number; body: string } | undefined {
    const now = environment.now();
    for (const [place, letter] of this.#room(channel).letters) {
      if (letter.from > now) continue;
      letter.from = now + ACK_WAIT_MS;
      return { place, body: letter.body };
    }
    return undefined;
  }

  #nak(channel: string, place: number, from: number): void {
    const letter = this.#rooms.get(channel)?.letters.get(place);
    if (letter !== undefined) letter.from = from;
  }
}
