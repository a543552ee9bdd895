// Brokers, as queues use them: they carry what the store holds. A broker may deliver twice, late, out of order, or after it has
// confirmed an acknowledgement; and it may forget. The store decides in all these cases.

import type { Environment } from "../../process/environment.js";

/** A message as a broker carries it. */
export interface Letter {
  /** A second letter with the same id may be dropped, or may be delivered too. */
  readonly id: string;
  readonly body: string;
}

/** A letter that was delivered. */
export interface CarrierDelivery {
  readonly body: string;
  /** Fulfilled when the broker has confirmed it. */
  ack(): Promise<void>;
  /** Asks for another delivery, after this time. */
  nak(delayMs: number): void;
}

/** Deliveries of one queue, until `close`. */
export interface Consumption {
  /** No further letters are delivered. */
  close(): Promise<void>;
}

/** A connection to a broker. It is made again, for ever, when it is lost. */
export interface Carrier {
  /** The broker, for people. */
  readonly label: string;
  /** Most bytes of a letter. */
  readonly limitBytes: number;
  /**
   * Fulfilled when the broker has confirmed all letters. If it rejects, each may have been stored or not: publish them again with the
   * same ids.
   *
   * @throws LetterTooLargeError before anything is published
   */
  publish(queue: string, letters: readonly Letter[]): Promise<void>;
  /**
   * Delivers letters, again and again until they are acknowledged. `deliver` is awaited before the next one.
   *
   * @param prefetch - most letters that are on their way
   */
  consume(
    queue: string,
    prefetch: number,
    deliver: (delivery: CarrierDelivery) => Promise<void>,
  ): Promise<Consumption>;
  /** Ends the connection. */
  close(): Promise<void>;
}

/** What a carrier needs of its surroundings. */
export interface CarrierContext {
  readonly environment: Environment;
  /** Calls `fn` after at least this many milliseconds. */
  after(ms: number, fn: () => void): void;
  /** The broker has lost a queue, or has it for the first time: what it should hold is published again. */
  forgotten(queue: string): void;
}

/** A broker that is not connected yet: what `jetstream` returns. */
export interface CarrierSource {
  /** For people, without passwords. */
  readonly label: string;
  /** @throws PackageMissingError, CarrierError */
  open(context: CarrierContext): Promise<Carrier>;
}
