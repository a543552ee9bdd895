// The letters of one queue, from the channel that counts: those that have arrived, and those whose messages are in work here. The store
// decides: a letter is a hint that its message is ready, and the message is held in the store before it is worked on.
//
//     arrived ── held ──> in work ── settled, or to be tried again ──> acknowledged
//        │                   └────── lost, or the inbox is closed ───> comes again
//        └─ the message is gone, waits, or has another holder ──> acknowledged
//
// An acknowledgement loses nothing: a message that becomes ready again is marked as unsent in the commit that makes it so, and so is each
// child of a message in the commit that settles it. Whoever looks sends what is unsent (outbox-machine.ts).

import { FencedError } from "../../store/index.js";
import type { Carrier, CarrierDelivery, Consumption } from "./carrier.js";
import type { Channels } from "./channels.js";
import { MESSAGE_LIMITS } from "./limits.js";

/** Where the letters of a queue come from. */
export interface InboxSource<P> {
  readonly queue: string;
  readonly carrier: Carrier;
  readonly channels: Channels;
  /** Most letters that wait, before the broker is asked for no more. */
  readonly prefetch: number;
  /** A letter of a message that is in work here comes again after this time, in milliseconds, in case its message is given back. */
  readonly inWorkMs: number;
  /** The message that a letter is about. Undefined: a stranger has sent it. */
  read(letter: string): P | undefined;
  /** Called when there are letters. */
  news(): void;
}

/** @typeParam P - what names a message; its letter is the same whenever it names the same */
export class Inbox<P> {
  readonly #source: InboxSource<P>;
  readonly #arrived: CarrierDelivery[] = [];
  /** By the text of the letter. */
  readonly #inWork = new Map<string, CarrierDelivery>();
  /** The texts of the letters whose messages are being held. */
  readonly #beingHeld = new Set<string>();
  /** Consumptions that wait until there is room for their next delivery: a closed one, too. */
  readonly #waiting: (() => void)[] = [];
  readonly #unwatch: () => void;
  #consumption: { readonly channel: string; readonly of: Consumption } | undefined;
  #isClosed = false;

  constructor(source: InboxSource<P>) {
    this.#source = source;
    this.#unwatch = source.channels.watch(source.queue, (channel) => this.#consume(channel));
  }

  get isEmpty(): boolean {
    return this.#arrived.length === 0;
  }

  /** Whether the message of this letter is in work here. */
  has(letter: string): boolean {
    return this.#inWork.has(letter);
  }

  /**
   * Takes messages whose letters have arrived.
   *
   * @param hold - holds messages in the store. Gives their rows in their order; undefined for a message that cannot be had
   * @throws what `hold` throws: then the letters come again, and at once if the claim is lost
   */
  async take<R>(
    count: number,
    hold: (messages: readonly P[]) => Promise<readonly (R | undefined)[]>,
  ): Promise<R[]> {
    const free = new Map<string, { readonly message: P; readonly letter: CarrierDelivery }>();
    for (const letter of this.#next(count)) {
      const { body } = letter;
      const message = this.#source.read(body);
      // It may be of a later time than the one at hand: acknowledged, it would be the last one of a message that is ready.
      if (this.#inWork.has(body) || this.#beingHeld.has(body)) letter.nak(this.#source.inWorkMs);
      else if (message === undefined || free.has(body)) letter.ackUnconfirmed();
      else free.set(body, { message, letter });
    }
    if (free.size === 0) return [];
    const all = [...free.values()];
    let rows: readonly (R | undefined)[];
    for (const body of free.keys()) this.#beingHeld.add(body);
    try {
      rows = await hold(all.map(({ message }) => message));
    } catch (error) {
      const inMs = this.#isClosed || error instanceof FencedError ? 0 : MESSAGE_LIMITS.again.maxMs;
      for (const { letter } of all) letter.nak(inMs);
      throw error;
    } finally {
      for (const body of free.keys()) this.#beingHeld.delete(body);
    }
    return all.flatMap(({ letter }, i) => {
      const row = rows[i];
      if (row === undefined) letter.ackUnconfirmed();
      // Whoever has the message next need not wait until the broker finds out.
      else if (this.#isClosed) letter.nak(0);
      else this.#inWork.set(letter.body, letter);
      return row === undefined ? [] : [row];
    });
  }

  /** The commit that settles the message of this letter, or has it tried again, is done. */
  settled(letter: string): void {
    this.#over(letter)?.ackUnconfirmed();
  }

  /** The message of this letter is not this process's any more: it comes again, to the process that has the message then. */
  lost(letter: string): void {
    this.#over(letter)?.nak(this.#source.inWorkMs);
  }

  #over(letter: string): CarrierDelivery | undefined {
    const delivery = this.#inWork.get(letter);
    this.#inWork.delete(letter);
    return delivery;
  }

  #next(count: number): readonly CarrierDelivery[] {
    const letters = this.#arrived.splice(0, count);
    for (const goOn of this.#waiting.splice(0)) goOn();
    return letters;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    const closed = this.#endConsumption();
    // Others need not wait until the broker finds out. Before the end of the consumption it would deliver to this one again.
    for (const letter of [...this.#next(Number.POSITIVE_INFINITY), ...this.#inWork.values()]) letter.nak(0);
    this.#inWork.clear();
    await closed;
  }

  /** Never rejects: a broker that cannot be told finds out by itself. */
  async #endConsumption(): Promise<void> {
    await this.#consumption?.of.close().catch(() => undefined);
  }

  #consume(channel: string): void {
    const { queue, carrier, channels, prefetch, news } = this.#source;
    if (this.#isClosed || this.#consumption?.channel === channel) return;
    void this.#endConsumption();
    const deliver = async (letter: CarrierDelivery): Promise<void> => {
      if (this.#isClosed) return letter.nak(0);
      this.#arrived.push(letter);
      news();
      if (this.#arrived.length >= prefetch) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    };
    const gone = (): void => {
      if (this.#consumption?.channel === channel) this.#consumption = undefined;
      channels.gone(queue, channel);
    };
    this.#consumption = { channel, of: carrier.consume(channel, prefetch, deliver, gone) };
  }
}
