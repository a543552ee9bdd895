// A loopback between a host and its PostgreSQL server, which a test cuts.

import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";

/** PostgreSQL's name for the socket of port 5432 in a folder. */
export const SOCKET = ".s.PGSQL.5432";

/** Passes bytes both ways until it is cut. */
export class Loopback {
  /** The folder that a client gives as its host. */
  readonly folder: string;
  readonly #target: string;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #server: Server | undefined;
  #silent = false;

  /** @param folder - for the socket; must exist. @param target - the server's own socket */
  constructor(folder: string, target: string) {
    this.folder = folder;
    this.#target = target;
  }

  /** Takes connections, also again after a cut. */
  async open(): Promise<void> {
    this.#silent = false;
    for (const [client, server] of this.#pairs) for (const socket of [client, server]) socket.resume();
    if (this.#server !== undefined) return;
    const path = join(this.folder, SOCKET);
    rmSync(path, { force: true });
    const made = createServer((client) => this.#connected(client));
    this.#server = made;
    await new Promise<void>((resolve) => made.listen(path, resolve));
  }

  /** Breaks all connections, as a reset does, and takes no new ones. */
  cut(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const [client, server] of this.#pairs) for (const socket of [client, server]) socket.destroy();
    this.#pairs.clear();
  }

  /** Passes nothing on, and tells nobody, as a network that loses everything. */
  silence(): void {
    this.#silent = true;
    for (const [client, server] of this.#pairs) for (const socket of [client, server]) socket.pause();
  }

  #connected(client: Socket): void {
    const server = connect(this.#target);
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
    if (this.#silent) for (const socket of pair) socket.pause();
  }
}
