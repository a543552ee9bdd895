// A node of a kill test as its runner sees it: a process, and the proxies between it and the servers.

import { type ChildProcess, spawn } from "node:child_process";
import { Loopback, type Silence } from "../loopback.js";
import type { Ledger } from "./ledger.js";
import type { HeldName, NamesLedger } from "./names.js";
import type { LinkEnd, Order, Word } from "./words.js";

/** What a node is started with. */
export interface NodeOptions {
  /** The program, with its arguments. */
  readonly child: readonly string[];
  /** Of the servers. */
  readonly ports: readonly number[];
  /** The time of its leases; 0: it contends for no names. */
  readonly ttlMs: number;
}

/** What a node has. */
export interface NodeEnds {
  readonly ends: readonly LinkEnd[];
  readonly held: readonly HeldName[];
}

/** Orders that a node has at most. */
const AT_ONCE = 200;

/** One process, started again when it was killed. */
export class NodeProcess {
  readonly name: string;
  readonly #proxies: readonly Loopback[];
  /** Dispatches below this number may be ordered. */
  upTo = 0;
  readonly #options: NodeOptions;
  readonly #ledger: Ledger;
  readonly #names: NamesLedger;
  /** How often it was started. */
  #boots = 0;
  #child: ChildProcess | undefined;
  #told: ((ends: NodeEnds) => void) | undefined;

  constructor(name: string, options: NodeOptions, ledger: Ledger, names: NamesLedger) {
    this.name = name;
    this.#proxies = options.ports.map((port) => new Loopback(0, port));
    this.#options = options;
    this.#ledger = ledger;
    this.#names = names;
  }

  /** Resolves when the node has joined. */
  async start(): Promise<void> {
    await this.open();
    this.#boots++;
    const servers = this.#proxies.map(({ port }) => `127.0.0.1:${port}`).join();
    const { child: program, ttlMs } = this.#options;
    const args = [...program, this.name, servers, "chaos", String(ttlMs)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      child.on("message", (word: Word) => {
        if (word.type === "ready") resolve();
        else this.#heard(child, word);
      });
      child.once("exit", (code, signal) => {
        if (this.#child === child) reject(new Error(`${this.name} ended by itself with ${code ?? signal}`));
      });
    });
  }

  #heard(child: ChildProcess, word: Exclude<Word, { readonly type: "ready" }>): void {
    if (child !== this.#child) return;
    if (word.type === "links") this.#told?.(word);
    else if (word.type === "wrote") this.#names.wrote(`${this.name} (${this.#boots})`, word.held);
    else {
      this.#ledger.ended(this.name, word.ends);
      this.order();
    }
  }

  /** Orders dispatches, as many as it may have. */
  order(): void {
    if (this.#child === undefined) return;
    const most = AT_ONCE - this.#ledger.openAt(this.name);
    for (const run of this.#ledger.take(this.name, most, this.upTo)) this.#say({ type: "dispatch", ...run });
  }

  /** The links and the names that it has. */
  ends(): Promise<NodeEnds> {
    return new Promise((resolve) => {
      this.#told = resolve;
      this.#say({ type: "links" });
    });
  }

  #say(order: Order): void {
    this.#child?.send(order);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** What it had not ended is ordered again, of whoever is there. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
    this.#ledger.died(this.name);
  }

  end(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill("SIGKILL");
    this.cut();
  }

  /** Breaks its connections to all servers. */
  cut(): void {
    for (const proxy of this.#proxies) proxy.cut();
  }

  silence(which: Silence): void {
    for (const proxy of this.#proxies) proxy.silence(which);
  }

  async open(): Promise<void> {
    for (const proxy of this.#proxies) await proxy.open();
  }
}
