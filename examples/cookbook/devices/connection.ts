// One connection, on the node that the device reached: lines with readings come in, an answer to each goes out, and commands go out.
// A line is `DEVICE NUMBER VALUE`, its answer `ok NUMBER`; a command is `do COMMAND`.

import type { Socket } from "node:net";
import { type Context, defineServer, type Pid, type ServerDefinition, stop } from "signalbox";
import type { Command, Devices } from "./device.js";

export const LIMITS = {
  /** A line that is longer, and has no end, is no reading. */
  maxLineLength: 200,
  /** A connection on which nothing moves for so long is gone. */
  silentMs: 900_000,
} as const;

/** The client has closed its connection. */
const CLOSED = Symbol("closed");

interface State {
  readonly socket: Socket;
}

export const Connection: ServerDefinition<
  [devices: Devices, socket: Socket],
  Record<never, never>,
  Record<never, never>
> = defineServer({
  label: "connection",
  mailbox: { capacity: 100, overflow: "exit" },
  init: (ctx: Context<Command>, devices: Devices, socket: Socket): State => {
    socket.setEncoding("latin1").setTimeout(LIMITS.silentMs, () => socket.destroy());
    // However one of the two ends, the other one does not outlive it.
    ctx.signal.addEventListener("abort", () => socket.destroy());
    void read(ctx, devices, socket).then(ctx.wrap(() => ctx.send(ctx.self as Pid<unknown>, CLOSED)));
    return { socket };
  },
  info: ({ socket }: State, message: unknown) => {
    if (message === CLOSED) return stop();
    socket.write(`do ${(message as Command).command}\n`);
    return undefined;
  },
});

/** Handles one line after the other, so that a client which does not take its answers is not read. */
async function read(ctx: Context<Command>, devices: Devices, socket: Socket): Promise<void> {
  try {
    for await (const line of linesOf(socket)) {
      const [id = "", n, value] = line.split(" ");
      const reading = { n: Number(n), value: Number(value) };
      const isGood =
        /^[\w-]{1,40}$/.test(id) && Number.isSafeInteger(reading.n) && Number.isFinite(reading.value);
      if (!isGood) return void socket.end("no reading\n"); // ends this connection, and no other
      // Sent again while its device crashes or moves: the device counts each number once.
      const device = devices.at(id, { repeat: true });
      const isTaken = await device.call.report(reading.n, reading.value, ctx.self as Pid<Command>).then(
        () => true,
        () => false, // not within the time of a call
      );
      if (!socket.write(`${isTaken ? "ok" : "again"} ${reading.n}\n`)) await drained(socket);
    }
  } catch {
    // The socket failed: the client is gone, which is no failure of ours.
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("drain", resolve).once("close", resolve);
  });
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
