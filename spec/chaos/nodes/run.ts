// Three processes that dispatch to each other's consumers, while they are killed, stopped and cut off, and while their server is killed.

import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../../../lib/testing/kit/random.js";
import { type NatsServer, startNats } from "../../support/nats.js";
import { Loopback, type Silence } from "../loopback.js";
import { Ledger } from "./ledger.js";
import type { ChaosOptions } from "./options.js";
import type { LinkEnd, Order, Word } from "./words.js";

/** How it ended. */
export interface NodesReport {
  readonly line: string;
  readonly clean: boolean;
  /** What is wrong, in words. */
  readonly findings: readonly string[];
  readonly acknowledged: number;
  readonly failures: ReadonlyMap<string, number>;
}

export interface RunOptions extends ChaosOptions {
  /** The program of a node, with its arguments. */
  readonly child: readonly string[];
  progress?(faults: number, what: string): void;
}

const FAULTS = ["kill", "kill", "stop", "cut", "silence", "one way", "server"] as const;
type Fault = (typeof FAULTS)[number];

/** Orders that a node has at most. */
const AT_ONCE = 200;
/** The longest time between two faults, and the longest that one lasts. */
const CALM_MS = 400;
const LASTS_MS = 3_000;
/** A node that has not ended its dispatches within this time, with everything whole, hangs. */
const HANG_MS = 60_000;
const POLL_MS = 20;

/** Runs nodes and strikes. @throws Error when a node ends by itself */
export async function strikeNodes(options: RunOptions): Promise<NodesReport> {
  const server = await startNats();
  const total = Math.max(1, options.faults) * options.dispatches;
  const ledger = new Ledger(total);
  const port = Number(server.address.split(":")[1]);
  const nodes = Array.from(
    { length: options.nodes },
    (_, i) => new NodeProcess(`node-${i}`, options, ledger, new Loopback(0, port)),
  );
  try {
    for (const node of nodes) await node.start();
    await strike(options, nodes, server, ledger);
    const links = await settled(nodes, ledger);
    return reportOf(options, ledger, links);
  } finally {
    for (const node of nodes) node.end();
    await server.stop();
  }
}

async function strike(
  options: RunOptions,
  nodes: readonly NodeProcess[],
  server: NatsServer,
  ledger: Ledger,
): Promise<void> {
  const random = new Random(options.seed);
  for (let done = 0; done < options.faults; done++) {
    for (const node of nodes) node.upTo = (done + 1) * options.dispatches;
    for (const node of nodes) node.order();
    await pause(random.unit() * CALM_MS);
    const fault = FAULTS[random.below(FAULTS.length)] as Fault;
    const node = nodes[random.below(nodes.length)] as NodeProcess;
    options.progress?.(done + 1, fault);
    await strikeWith(fault, node, server, random.unit() * LASTS_MS, random);
    if (ledger.wrong.length > 0) return;
  }
  for (const node of nodes) node.upTo = ledger.total;
}

async function strikeWith(
  fault: Fault,
  node: NodeProcess,
  server: NatsServer,
  forMs: number,
  random: Random,
): Promise<void> {
  switch (fault) {
    case "kill":
      await node.kill();
      return node.start();
    case "stop":
      node.signal("SIGSTOP");
      await pause(forMs);
      node.signal("SIGCONT");
      return;
    case "cut":
      node.proxy.cut();
      await pause(forMs);
      return node.proxy.open();
    case "silence":
    case "one way": {
      const which: Silence = fault === "silence" ? "both" : random.below(2) === 0 ? "sent" : "received";
      node.proxy.silence(which);
      await pause(forMs);
      return node.proxy.open();
    }
    case "server":
      await server.kill();
      await pause(forMs / 4);
      return server.start();
    default:
      fault satisfies never;
  }
}

/** Waits until all dispatches have ended and links are the same at both ends, with everything whole. */
async function settled(nodes: readonly NodeProcess[], ledger: Ledger): Promise<string[]> {
  let asymmetric: string[] = [];
  for (let leftMs = HANG_MS; leftMs > 0; leftMs -= POLL_MS) {
    for (const node of nodes) node.order();
    await pause(POLL_MS);
    if (!ledger.isDone) continue;
    asymmetric = asymmetryOf((await Promise.all(nodes.map((node) => node.links()))).flat());
    if (asymmetric.length === 0) return [];
    await pause(1_000);
    leftMs -= 1_000;
  }
  return asymmetric;
}

/** Links that are known at one end alone. */
function asymmetryOf(ends: readonly LinkEnd[]): string[] {
  const known = new Set(ends.map(({ from, to }) => `${from} ${to}`));
  return ends
    .filter(({ from, to }) => !known.has(`${to} ${from}`))
    .map(({ from, to }) => `the link of ${from} with ${to} is known at one end alone`);
}

function reportOf({ faults }: RunOptions, ledger: Ledger, links: readonly string[]): NodesReport {
  const lost = ledger.isDone ? [] : ledger.lost.map((n) => `dispatch ${n} has no end`);
  const findings = [...ledger.wrong, ...lost, ...links];
  const symmetric = links.length === 0 ? "links symmetric" : `${links.length} links at one end alone`;
  return {
    findings,
    clean: findings.length === 0 && ledger.isDone,
    acknowledged: ledger.acknowledged,
    failures: ledger.failures,
    line: `${faults} faults, ${ledger.total} dispatches, ${ledger.total - ledger.acknowledged - sum(ledger.failures)} lost, ${symmetric}`,
  };
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, one) => all + one, 0);
}

/** One process, started again when it was killed. */
class NodeProcess {
  readonly name: string;
  readonly proxy: Loopback;
  /** Dispatches below this number may be ordered. */
  upTo = 0;
  readonly #options: RunOptions;
  readonly #ledger: Ledger;
  #child: ChildProcess | undefined;
  #told: ((ends: readonly LinkEnd[]) => void) | undefined;

  constructor(name: string, options: RunOptions, ledger: Ledger, proxy: Loopback) {
    this.name = name;
    this.proxy = proxy;
    this.#options = options;
    this.#ledger = ledger;
  }

  /** Resolves when the node has joined. */
  async start(): Promise<void> {
    await this.proxy.open();
    const args = [...this.#options.child, this.name, `127.0.0.1:${this.proxy.port}`, "chaos"];
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
    if (word.type === "links") this.#told?.(word.ends);
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

  links(): Promise<readonly LinkEnd[]> {
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
    this.proxy.cut();
  }
}
