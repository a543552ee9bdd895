// One connection: lines with readings come in, an answer to each goes out. A line is `DEVICE NUMBER VALUE`, its answer `ok NUMBER`.

import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { CalleeExitedError, type DynamicSupervisorRef } from "signalbox";
import type { Device, Store } from "./device.js";

/** The supervisor of all devices. */
export type Devices = DynamicSupervisorRef<
  readonly [id: string, store: Store],
  ReturnType<(typeof Device)["at"]>
>;

export const LIMITS = {
  /** A line that is longer, and has no end, is no reading. */
  maxLineLength: 200,
  /** A connection on which nothing moves for so long is gone. */
  silentMs: 900_000,
  /** How long a reading may wait for its device, which may be starting. */
  waitMs: 5_000,
  /** How often a reading is given to a device that ends. */
  tries: 3,
} as const;

interface Reading {
  readonly id: string;
  /** Counted by the device from 1, so that a reading which is sent twice counts once. */
  readonly n: number;
  readonly value: number;
}

/** Gives a reading to the process of its device, which is started if there is none. */
export async function report(devices: Devices, store: Store, { id, n, value }: Reading): Promise<void> {
  for (let tries = 1; ; tries++) {
    const device = await devices.startOrGet([id, store], { timeoutMs: LIMITS.waitMs });
    try {
      return await device.call.report(n, value);
    } catch (error) {
      // The process ended before it answered: it crashed, or was idle in this moment. The next one takes the reading.
      if (tries === LIMITS.tries || !(error instanceof CalleeExitedError)) throw error;
    }
  }
}

/** Serves a connection until its end. When the process of the connection ends, `signal` ends the socket. */
export async function serve(
  socket: Socket,
  signal: AbortSignal,
  devices: Devices,
  store: Store,
): Promise<void> {
  socket.setEncoding("latin1").setTimeout(LIMITS.silentMs, () => socket.destroy());
  try {
    // A client that does not take its answers is not read.
    await pipeline(socket, (texts: AsyncIterable<string>) => answers(texts, devices, store), socket, {
      signal,
    });
  } catch (error) {
    // Errors with a code are those of the socket: the client is gone, which is no failure of ours.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

async function* answers(
  texts: AsyncIterable<string>,
  devices: Devices,
  store: Store,
): AsyncGenerator<string> {
  for await (const line of linesOf(texts)) {
    const reading = readingOf(line);
    if (reading === undefined) return yield "no reading\n"; // ends this connection, and no other
    yield await report(devices, store, reading).then(
      () => `ok ${reading.n}\n`,
      () => `again ${reading.n}\n`, // the supervisor has reported why
    );
  }
}

function readingOf(line: string): Reading | undefined {
  const [id = "", n, value] = line.split(" ");
  const reading = { id, n: Number(n), value: Number(value) };
  const isGood =
    /^[\w-]{1,40}$/.test(id) && Number.isSafeInteger(reading.n) && Number.isFinite(reading.value);
  return isGood ? reading : undefined;
}

async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of texts) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > LIMITS.maxLineLength) yield rest;
  }
}
