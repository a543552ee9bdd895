// A loopback between a program and its server, which a test cuts.

import { rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The path of a socket, or a port of 127.0.0.1. */
export type Endpoint = string | number;

/** Which bytes are lost: those of the program, those of the server, or both. */
export type Silence = "both" | "sent" | "received";

/** Passes bytes both ways until it is cut. */
export class Loopback {
  readonly #at: Endpoint;
  readonly #target: Endpoint;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #server: Server | undefined;
  #silent: Silence | undefined;
  #port: number | undefined;

  /** @param at - where it takes connections; 0: any free port. @param target - where the server does */
  constructor(at: Endpoint, target: Endpoint) {
    this.#at = at;
    this.#target = target;
  }

  /** The port at which it takes connections. The same after a cut. */
  get port(): number {
    return this.#port ?? 0;
  }

  /** Takes connections, also again after a cut. */
  async open(): Promise<void> {
    this.#silent = undefined;
    for (const [client, server] of this.#pairs) for (const socket of [client, server]) socket.resume();
    if (this.#server !== undefined) return;
    if (typeof this.#at === "string") rmSync(this.#at, { force: true });
    const made = createServer((client) => this.#connected(client));
    this.#server = made;
    await new Promise<void>((resolve) => {
      if (typeof this.#at === "string") made.listen(this.#at, resolve);
      else made.listen(this.#port ?? this.#at, "127.0.0.1", resolve);
    });
    if (typeof this.#at === "number") this.#port = (made.address() as AddressInfo).port;
  }

  /** Breaks all connections, as a reset does, and takes no new ones. */
  cut(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const [client, server] of this.#pairs) for (const socket of [client, server]) socket.destroy();
    this.#pairs.clear();
  }

  /** Passes nothing on, and tells nobody, as a network that loses everything. */
  silence(which: Silence = "both"): void {
    this.#silent = which;
    for (const pair of this.#pairs) pause(pair, which);
  }

  #connected(client: Socket): void {
    const server =
      typeof this.#target === "string" ? connect(this.#target) : connect(this.#target, "127.0.0.1");
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const [from, to] of [pair, [server, client] as const]) {
      from.on("data", (chunk: Buffer) => void to.write(chunk));
      from.on("error", end);
      from.on("close", end);
    }
    if (this.#silent !== undefined) pause(pair, this.#silent);
  }
}

function pause([client, server]: readonly [Socket, Socket], which: Silence): void {
  if (which !== "received") client.pause();
  if (which !== "sent") server.pause();
}
