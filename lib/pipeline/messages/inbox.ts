// The letters of one queue that have arrived, from the channel that counts, and that were not looked at.

import type { Carrier, CarrierDelivery, Consumption } from "./carrier.js";
import type { Channels } from "./channels.js";

/** Where the letters of a queue come from. */
export interface InboxSource {
  readonly queue: string;
  readonly carrier: Carrier;
  readonly channels: Channels;
  /** Most letters that wait, before the broker is asked for no more. */
  readonly prefetch: number;
  /** Called when there are letters. */
  news(): void;
}

export class Inbox {
  readonly #source: InboxSource;
  readonly #arrived: CarrierDelivery[] = [];
  /** Consumptions that wait until there is room for their next delivery: a closed one, too. */
  readonly #waiting: (() => void)[] = [];
  readonly #unwatch: () => void;
  #consumption: { readonly channel: string; readonly of: Consumption } | undefined;
  #isClosed = false;

  constructor(source: InboxSource) {
    this.#source = source;
    this.#unwatch = source.channels.watch(source.queue, (channel) => this.#consume(channel));
  }

  get isEmpty(): boolean {
    return this.#arrived.length === 0;
  }

  take(count: number): readonly CarrierDelivery[] {
    const letters = this.#arrived.splice(0, count);
    for (const goOn of this.#waiting.splice(0)) goOn();
    return letters;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    const closed = this.#consumption?.of.close();
    // Others need not wait until the broker finds out. Before the end of the consumption it would deliver to this one again.
    for (const letter of this.take(Number.POSITIVE_INFINITY)) letter.nak(0);
    await closed;
  }

  #consume(channel: string): void {
    const { queue, carrier, channels, prefetch, news } = this.#source;
    if (this.#isClosed || this.#consumption?.channel === channel) return;
    void this.#consumption?.of.close();
    const deliver = async (letter: CarrierDelivery): Promise<void> => {
      if (this.#isClosed) return letter.nak(0);
      this.#arrived.push(letter);
      news();
      if (this.#arrived.length >= prefetch) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    };
    const gone = (): void => {
      this.#consumption = undefined;
      channels.gone(queue, channel);
    };
    this.#consumption = { channel, of: carrier.consume(channel, prefetch, deliver, gone) };
  }
}
