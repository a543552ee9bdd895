// Brokers, as queues use them: they carry what the store holds. A broker may deliver twice, late, out of order, or after it has
// confirmed an acknowledgement; and it may forget. The store decides in all these cases.

import type { Environment } from "../../process/environment.js";

/** A message as a broker carries it. */
export interface Letter {
  /** A second letter with the same id may be dropped, or may be delivered too. */
  readonly id: string;
  /** Text that the carrier gives back unchanged. */
  readonly body: string;
}

/** A letter that was delivered. */
export interface CarrierDelivery {
  /** The text of the letter. */
  readonly body: string;
  /** Acknowledges the letter. The broker does not confirm it: if the acknowledgement is lost, the letter comes again. Never throws. */
  ackUnconfirmed(): void;
  /** Asks for another delivery, after this time. Never throws. */
  nak(delayMs: number): void;
}

/** Deliveries of one channel, until `close`. */
export interface Consumption {
  /** No further letters are delivered. */
  close(): Promise<void>;
}

/**
 * A connection to a broker. It is made again, for ever, when it is lost. Letters are in channels; an acknowledgement counts in the channel
 * of its delivery alone, and never in another one that has its name by chance: so names are not used twice.
 */
export interface Carrier {
  /** The broker, for people. */
  readonly label: string;
  /** Most bytes of a letter. */
  readonly limitBytes: number;
  /** Makes an empty channel. If it rejects, the channel may be there, or come to be. @throws CarrierError */
  make(channel: string): Promise<void>;
  /** Removes a channel, if it is there. @throws CarrierError */
  remove(channel: string): Promise<void>;
  /**
   * Fulfilled when the broker has confirmed all letters. If it rejects, each may have been stored or not: publish them again with the
   * same ids.
   *
   * @throws LetterTooLargeError before anything is published, ChannelGoneError, CarrierError
   */
  publish(channel: string, letters: readonly Letter[]): Promise<void>;
  /**
   * Delivers letters, again and again until they are acknowledged. `deliver` is awaited before the next one.
   *
   * @param prefetch - most letters that are on their way
   * @param gone - called once if the broker does not have the channel; then the consumption is over
   */
  consume(
    channel: string,
    prefetch: number,
    deliver: (delivery: CarrierDelivery) => Promise<void>,
    gone: () => void,
  ): Consumption;
  /** Whether the channel has no letters, delivered and not acknowledged ones included. @throws ChannelGoneError, CarrierError */
  isEmpty(channel: string): Promise<boolean>;
  /** Ends the connection. */
  close(): Promise<void>;
}

/** What a carrier needs of its surroundings. */
export interface CarrierContext {
  /** Clock, random numbers and ids of the system. */
  readonly environment: Environment;
  /** Calls `fn` after at least this many milliseconds. */
  after(ms: number, fn: () => void): void;
}

/** A broker that is not connected yet: what `jetstream` returns. */
export interface CarrierSource {
  /** For people, without passwords. */
  readonly label: string;
  /** @throws PackageMissingError, CarrierError */
  open(context: CarrierContext): Promise<Carrier>;
}
