// A proxy between a store and its server, on a Unix socket of its own: it cuts connections at any byte, and can be deaf.

import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PostgresConnection, PostgresServer } from "./postgres.js";

/** Where a connection is cut: behind this many bytes of one direction, counted from when the cut was armed. */
export interface Cut {
  readonly direction: "to server" | "to client";
  readonly bytes: number;
}

/** What passed on a connection since a cut was armed. */
export interface Passed {
  readonly "to server": number;
  readonly "to client": number;
}

export interface PostgresProxy {
  readonly connection: PostgresConnection;
  /**
   * Arms a cut of the connection on which the client next sends something of a transaction. Without a cut the bytes are only counted. `andAll`: the others are cut
   * with it, and new ones refused.
   */
  arm(cut?: Cut, andAll?: boolean): void;
  /** What passed on the connection that was armed. */
  passed(): Passed;
  /** Whether the armed cut took place. */
  wasCut(): boolean;
  /** Keeps notifications from clients, as a pooler in transaction mode does. */
  deaf: boolean;
  /** Passes nothing on, and says nothing, as a network that has failed. */
  silent: boolean;
  /** Breaks new connections off, as a server that is not there. Others go on. */
  refuses: boolean;
  /** Breaks off each connection on which the client sends this text, and passes none of that on. */
  breaksAt: string | undefined;
  /** How many connections were broken off so. */
  readonly broken: number;
  /** How many connections were made. */
  readonly connections: number;
  /** Leads new connections to another server, as a cluster does when its first one is lost. */
  leadTo(server: PostgresServer): void;
  /** Cuts all connections. */
  cutAll(): void;
  stop(): Promise<void>;
}

export async function startProxy(server: PostgresServer): Promise<PostgresProxy> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-px-"));
  const proxy = new CuttingProxy(server, folder);
  await proxy.listen();
  return proxy;
}

class CuttingProxy implements PostgresProxy {
  readonly connection: PostgresConnection;
  deaf = false;
  silent = false;
  refuses = false;
  breaksAt: string | undefined;
  broken = 0;
  connections = 0;
  #andAll = false;
  readonly #folder: string;
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();
  #cut: Cut | undefined;
  #isArmed = false;
  #target: Pair | undefined;

  #server: PostgresServer;

  constructor(server: PostgresServer, folder: string) {
    this.#server = server;
    this.#folder = folder;
    this.connection = { ...server.connection, host: folder };
    this.#listener = createServer((client) => {
      this.connections++;
      if (this.refuses) {
        client.destroy();
        return;
      }
      const pair = new Pair(this, client, createConnection(this.#server.socket));
      this.#pairs.add(pair);
      pair.ended.then(() => this.#pairs.delete(pair));
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.#listener.listen(join(this.#folder, `.s.PGSQL.${this.connection.port}`), () => resolve());
    });
  }

  arm(cut?: Cut, andAll = false): void {
    this.#cut = cut;
    this.#andAll = andAll;
    this.#isArmed = true;
    this.#target = undefined;
  }

  passed(): Passed {
    return this.#target?.passed ?? { "to server": 0, "to client": 0 };
  }

  wasCut(): boolean {
    return this.#target?.isCut === true;
  }

  leadTo(server: PostgresServer): void {
    this.#server = server;
  }

  cutAll(): void {
    for (const pair of this.#pairs) pair.cut();
  }

  async stop(): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.#listener.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The bytes of a chunk that pass, and whether the connection is cut behind them. */
  take(pair: Pair, direction: Cut["direction"], chunk: Buffer): [Buffer, boolean] {
    if (direction === "to server" && this.breaksAt !== undefined && chunk.includes(this.breaksAt)) {
      this.broken++;
      return [chunk.subarray(0, 0), true];
    }
    // Only connections on which transactions are begun: others may test whether notifications arrive at any moment.
    if (direction === "to server") pair.begins ||= chunk.includes("begin");
    if (this.#isArmed && direction === "to server" && pair.begins) {
      this.#isArmed = false;
      this.#target = pair;
      pair.passed = { "to server": 0, "to client": 0 };
    }
    if (pair !== this.#target) return [chunk, false];
    const before = pair.passed[direction];
    const cut = this.#cut?.direction === direction ? this.#cut.bytes - before : Number.POSITIVE_INFINITY;
    const passing = chunk.subarray(0, Math.min(chunk.length, cut));
    pair.passed = { ...pair.passed, [direction]: before + passing.length };
    const isCut = passing.length < chunk.length || passing.length === cut;
    if (isCut && this.#andAll) {
      this.refuses = true;
      for (const other of this.#pairs) if (other !== pair) other.cut();
    }
    return [passing, isCut];
  }
}

class Pair {
  readonly ended: Promise<void>;
  passed: Passed = { "to server": 0, "to client": 0 };
  isCut = false;
  /** Transactions were begun on it. */
  begins = false;
  readonly #proxy: CuttingProxy;
  readonly #client: Socket;
  readonly #server: Socket;
  /** Bytes from the server that are no whole message yet. */
  #rest = Buffer.alloc(0);

  constructor(proxy: CuttingProxy, client: Socket, server: Socket) {
    this.#proxy = proxy;
    this.#client = client;
    this.#server = server;
    this.ended = new Promise((resolve) => {
      for (const [one, other] of [
        [client, server],
        [server, client],
      ] as const) {
        one.on("error", () => other.destroy());
        one.on("close", () => {
          other.destroy();
          resolve();
        });
      }
    });
    client.on("data", (chunk) => this.#pass("to server", chunk as Buffer, server));
    server.on("data", (chunk) => this.#pass("to client", this.#heard(chunk as Buffer), client));
  }

  /** Bytes already on their way arrive; none come after. */
  cut(): void {
    this.isCut = true;
    this.#client.destroySoon();
    this.#server.destroySoon();
  }

  #pass(direction: Cut["direction"], chunk: Buffer, to: Socket): void {
    if (this.isCut || chunk.length === 0 || this.#proxy.silent) return;
    const [passing, isCut] = this.#proxy.take(this, direction, chunk);
    if (passing.length > 0) to.write(passing);
    if (isCut) this.cut();
  }

  /** Without notifications, if the proxy is deaf. */
  #heard(chunk: Buffer): Buffer {
    if (!this.#proxy.deaf && this.#rest.length === 0) return chunk;
    const bytes = Buffer.concat([this.#rest, chunk]);
    const kept: Buffer[] = [];
    let at = 0;
    while (at + 5 <= bytes.length) {
      const end = at + 1 + bytes.readInt32BE(at + 1);
      if (end > bytes.length) break;
      if (String.fromCharCode(bytes[at] as number) !== "A") kept.push(bytes.subarray(at, end));
      at = end;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
    return Buffer.concat(kept);
  }
}
