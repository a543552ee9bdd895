// A NATS server with JetStream for tests: on loopback, with a data folder of its own.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { natsProgram, noNats } from "./nats-program.js";

export { describeNats, describeNatsLeases, noLeases, noNats } from "./nats-program.js";

/** A server that runs until `stop`. */
export interface NatsServer extends AsyncDisposable {
  /** Where it is, for clients. */
  readonly address: string;
  /** What it has written, at least its beginning. */
  readonly log: string;
  /** Starts a server that was killed. Resolves when it takes connections. */
  start(): Promise<void>;
  /** SIGKILL. `start` recovers what it had. */
  kill(): Promise<void>;
  /** As `kill`, and its data is gone. */
  wipe(): Promise<void>;
  /** While it is killed: takes so many connections at its port, and closes each at once. */
  refuse(connections: number): Promise<void>;
  /** SIGSTOP, or SIGCONT. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Kills it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a new, empty server.
 *
 * @param flags - further flags of its command line
 * @throws Error where there is none; see {@link noNats}
 */
export async function startNats(flags?: readonly string[]): Promise<NatsServer> {
  const server = new NatsServerProcess(await freePort(), flags);
  await server.start();
  return server;
}

/**
 * Starts the server, prints its process id, and kills it when its own standard input ends: that is when the process of the tests does,
 * whatever ends it.
 */
const TETHERED = `exec 3<&0
"$0" "$@" 3<&- </dev/null >/dev/null &
server=$!
echo $server
{ cat >/dev/null; kill -9 $server; } <&3 3<&- >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait $server
kill -9 $watch 2>/dev/null`;

/** One server. `startNats` starts one alone, `startNatsCluster` three. */
export class NatsServerProcess implements NatsServer {
  readonly address: string;
  readonly #path: string;
  readonly #port: number;
  readonly #flags: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "signalbox-nats-"));
  readonly #exit: () => void;
  /** The shell that watches over the server, and the server. */
  #child: ChildProcess | undefined;
  #pid: number | undefined;
  log = "";

  /** @throws Error where there is none; see {@link noNats} */
  constructor(port: number, flags: readonly string[] = ["-js"]) {
    if (natsProgram === undefined) throw new Error(noNats);
    this.#path = natsProgram.path;
    this.#port = port;
    this.#flags = flags;
    this.address = `127.0.0.1:${port}`;
    this.#exit = () => {
      this.#strike();
      rmSync(this.#folder, { recursive: true, force: true });
    };
    process.once("exit", this.#exit);
  }

  async start(): Promise<void> {
    const flags = ["-sd", join(this.#folder, "data"), "-a", "127.0.0.1", "-p", String(this.#port)];
    const child = spawn("/bin/sh", ["-c", TETHERED, this.#path, ...flags, ...this.#flags], { stdio: "pipe" });
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => {
      this.#pid = Number(chunk.toString());
    });
    child.once("exit", () => {
      this.#pid = undefined;
    });
    this.log = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", (chunk: Buffer) => {
        if (this.log.length < 100_000) this.log += chunk.toString();
        if (this.log.includes("Server is ready")) resolve();
      });
      child.once("error", reject);
      child.once("close", (code) => reject(new Error(`the server ended with ${code}:\n${this.log}`)));
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    this.#strike();
    await ended;
    child.stdin?.end();
  }

  #strike(): void {
    if (this.#pid !== undefined) process.kill(this.#pid, "SIGKILL");
    this.#pid = undefined;
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    if (this.#pid !== undefined) process.kill(this.#pid, signal);
  }

  async wipe(): Promise<void> {
    await this.kill();
    rmSync(join(this.#folder, "data"), { recursive: true, force: true });
  }

  async refuse(connections: number): Promise<void> {
    const server = createServer();
    let refused = 0;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.on("connection", (socket) => {
        socket.on("error", () => undefined).destroy();
        if (++refused >= connections) resolve();
      });
      server.listen(this.#port, "127.0.0.1");
    });
    await new Promise((resolve) => server.close(resolve));
  }

  async stop(): Promise<void> {
    await this.kill();
    process.off("exit", this.#exit);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Ports below those from which operating systems choose. A client that tries to reach a killed server may get the very port of that server as
 * its own, connect to itself, and so keep the server from its restart.
 */
const PORTS = { from: 15_000, count: 15_000 };

/** A port that nobody listens on. A server that is started again needs the one that it had. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
