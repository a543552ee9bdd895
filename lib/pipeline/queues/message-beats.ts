// The heartbeats of one attempt at a message of a queue: how far its handler has come.

import { type Heartbeat, Heartbeats } from "../../host/background/heartbeats.js";
import type { Payloads } from "../../host/payload/payloads.js";
import { valueCodec } from "../../host/payload/values.js";
import type { QueuedRow } from "./tables.js";

/** What a row holds. */
export type Beats = NonNullable<QueuedRow["heartbeats"]>;

/** How far the handler is with a message. */
export interface QueueHeartbeat {
  /** The id of the message. */
  readonly id: string;
  /** When it said so, in milliseconds since 1970 by the clock of the store. */
  readonly at: number;
  /** What it gave. */
  readonly progress: unknown;
}

/** What heartbeats use of the attempt's process. */
export interface BeatsPort {
  readonly payloads: Payloads;
  now(): number;
  after(ms: number, fn: () => void): void;
  write(heartbeats: Beats): void;
}

/** A message has one handler. */
const HANDLER = "handler";

export class MessageBeats {
  readonly #row: QueuedRow;
  readonly #port: BeatsPort;
  /** Undefined: there were none. */
  #beats: Heartbeats | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(row: QueuedRow, port: BeatsPort) {
    this.#row = row;
    this.#port = port;
  }

  /** Reads those of earlier attempts. */
  async restore(): Promise<void> {
    if (this.#row.heartbeats !== null) await this.#beating().restore(this.#row.heartbeats);
  }

  get last(): unknown {
    return this.#beats?.last(HANDLER)?.progress;
  }

  /** @throws UnstorableValueError, PayloadTooLargeError */
  beat(progress: unknown): void {
    this.#beating().beat(HANDLER, progress);
  }

  /** @throws the error of a heartbeat that an asynchronous codec has refused */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** What the row is to hold after the attempt. Undefined: what it holds already. */
  async stored(): Promise<Beats | undefined> {
    if (this.#beats === undefined || this.#beats.isEmpty) return undefined;
    try {
      return await this.#beats.encoded();
    } catch {
      // The codec has refused it where it was given.
      return undefined;
    }
  }

  #beating(): Heartbeats {
    const { payloads, write, now, after } = this.#port;
    const { id, queue } = this.#row;
    this.#beats ??= new Heartbeats({
      now,
      after,
      write,
      payloads: valueCodec(payloads),
      named: () => `message ${id} of queue ${queue}`,
      failed: (error) => {
        this.#failure ??= { error };
      },
    });
    return this.#beats;
  }
}

/** The heartbeats that rows have. One that cannot be read is left out: the next attempt does not get it either. */
export async function shownBeats(payloads: Payloads, rows: readonly QueuedRow[]): Promise<QueueHeartbeat[]> {
  const shown = await Promise.all(rows.map((row) => shownBeat(payloads, row)));
  return shown.filter((one) => one !== undefined);
}

async function shownBeat(
  payloads: Payloads,
  { id, heartbeats }: QueuedRow,
): Promise<QueueHeartbeat | undefined> {
  if (heartbeats === null) return undefined;
  try {
    const [first] = (await payloads.load(heartbeats)) as readonly (readonly [string, Heartbeat])[];
    return first === undefined ? undefined : { id, ...first[1] };
  } catch {
    return undefined;
  }
}
