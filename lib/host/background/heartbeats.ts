// Heartbeats of the steps of one flow, or of the adapters that work on one message: how far each has come. The last ones are in the row
// of the flow or the message, written once a second at most, and the next attempt gets the last one that was written.

import { isThenable } from "../../process/thenable.js";
import type { Stored } from "../payload/marks.js";
import type { ValueCodec } from "../payload/values.js";

/** The last heartbeat of a step or an adapter. */
export interface Heartbeat {
  /** Milliseconds since 1970, by the store's clock. */
  readonly at: number;
  /** The value that it gave. */
  readonly progress: unknown;
}

/** The port of heartbeats to their owner. */
export interface HeartbeatPort {
  readonly payloads: ValueCodec;
  /** Names the step or adapter that beats under a key, for errors. */
  named(key: string): string;
  now(): number;
  after(ms: number, fn: () => void): void;
  /** Writes all of them. */
  write(heartbeats: Stored): void;
  /** A given value cannot be written. */
  failed(error: unknown): void;
}

/** Heartbeats of a flow or a message are written so often at most. */
export const HEARTBEAT_MS = 1_000;

export class Heartbeats {
  readonly #port: HeartbeatPort;
  #beats = new Map<string, Heartbeat>();
  #writtenAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;
  /** The row has heartbeats. */
  #isStored = false;

  constructor(port: HeartbeatPort) {
    this.#port = port;
  }

  /**
   * Restores the heartbeats of the row, which an earlier attempt made. At once, unless the codec is asynchronous. Heartbeats that cannot be
   * read are ignored: the work begins where it began before.
   */
  restore(stored: Stored): void | Promise<void> {
    this.#isStored = true;
    try {
      const read = this.#port.payloads.decode(stored);
      if (!isThenable(read)) return this.#restored(read);
      return Promise.resolve(read)
        .then((beats) => this.#restored(beats))
        .catch(() => undefined);
    } catch {
      return undefined;
    }
  }

  #restored(beats: unknown): void {
    this.#beats = new Map([...(beats as readonly (readonly [string, Heartbeat])[]), ...this.#beats]);
  }

  /** No step that runs has made one, and the row has none. */
  get isEmpty(): boolean {
    return !this.#isStored && this.#beats.size === 0;
  }

  last(key: string): Heartbeat | undefined {
    return this.#beats.get(key);
  }

  /** @throws UnstorableValueError, PayloadTooLargeError */
  beat(key: string, progress: unknown): void {
    const { payloads, named, after, now } = this.#port;
    const checked = payloads.encode(progress, `the heartbeat of ${named(key)}`, "progress");
    if (isThenable(checked)) checked.then(undefined, (error: unknown) => this.#port.failed(error));
    const at = now();
    this.#beats.set(key, { at, progress });
    if (this.#isWaiting) return;
    const wait = this.#writtenAt + HEARTBEAT_MS - at;
    if (wait <= 0) return void this.#write();
    this.#isWaiting = true;
    after(wait, () => {
      this.#isWaiting = false;
      void this.#write();
    });
  }

  async #write(): Promise<void> {
    if (this.#beats.size === 0) return;
    this.#writtenAt = this.#port.now();
    this.#isStored = true;
    try {
      const encoded = this.encoded();
      this.#port.write(isThenable(encoded) ? await encoded : encoded);
    } catch (error) {
      this.#port.failed(error);
    }
  }

  /** All of them, as a row holds them. */
  encoded(): Stored | Promise<Stored> {
    return this.#port.payloads.encode([...this.#beats], "heartbeats", "progress") as Stored | Promise<Stored>;
  }

  /** Steps have ended. True: the row has heartbeats, and no step that runs has any. */
  ended(keys: readonly string[]): boolean {
    for (const key of keys) this.#beats.delete(key);
    if (!this.#isStored || this.#beats.size > 0) return false;
    this.#isStored = false;
    return true;
  }
}
