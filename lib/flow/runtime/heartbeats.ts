// Heartbeats of the steps of one flow: how far each of its running steps has come. The last ones are in the flow's row, written
// once a second at most, and the next attempt of a step gets the last one that was written.

import { isThenable } from "../../process/thenable.js";
import type { Write } from "../../store/index.js";
import type { Stored } from "../journal/entry.js";
import { flows } from "../journal/tables.js";
import type { Payloads } from "./port.js";

/** The last heartbeat of a step. */
export interface Heartbeat {
  /** Milliseconds since 1970, by the store's clock. */
  readonly at: number;
  /** What the step gave. */
  readonly progress: unknown;
}

/** What heartbeats use of their flow's process. */
export interface HeartbeatPort {
  readonly payloads: Payloads;
  readonly flow: number;
  now(): number;
  after(ms: number, fn: () => void): void;
  /** Writes, and tells the process of an error. */
  write(write: Write): void;
  /** What a step gave cannot be written. */
  failed(error: unknown): void;
}

/** Heartbeats of a flow are written so often at most. */
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

  /** Those that the row of the flow has: an earlier attempt made them. Heartbeats that cannot be read are none. */
  async restore(stored: Stored): Promise<void> {
    this.#isStored = true;
    try {
      const beats = (await this.#port.payloads.decode(stored)) as readonly (readonly [string, Heartbeat])[];
      this.#beats = new Map([...beats, ...this.#beats]);
    } catch {
      // A step begins where it began before.
    }
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
    const { payloads, after, now } = this.#port;
    const checked = payloads.encode(progress, `the heartbeat of step "${key}"`, "progress");
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
    const { payloads, flow } = this.#port;
    try {
      const encoded = payloads.encode([...this.#beats], "the heartbeats of a flow", "progress");
      const heartbeats = isThenable(encoded) ? await encoded : encoded;
      this.#port.write({ type: "update", table: flows, key: [flow], set: { heartbeats } });
    } catch (error) {
      this.#port.failed(error);
    }
  }

  /** Steps have ended. True: the row has heartbeats, and no step that runs has any. */
  ended(keys: readonly string[]): boolean {
    for (const key of keys) this.#beats.delete(key);
    if (!this.#isStored || this.#beats.size > 0) return false;
    this.#isStored = false;
    return true;
  }
}
