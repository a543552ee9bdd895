// Three processes that dispatch to each other's consumers, while they are killed, stopped and cut off, and while their server is killed.

import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../../../lib/testing/kit/random.js";
import { noLeases } from "../../support/nats-program.js";
import type { Silence } from "../loopback.js";
import { Ledger } from "./ledger.js";
import { NamesLedger } from "./names.js";
import { NodeProcess } from "./node-process.js";
import type { ChaosOptions } from "./options.js";
import { asymmetryOf, type NodesReport, reportOf, type Unsettled } from "./report.js";
import { type ChaosServers, startServers } from "./servers.js";

export interface RunOptions extends Omit<ChaosOptions, "carrier"> {
  /** The program of a node, with its arguments. */
  readonly child: readonly string[];
  progress?(faults: number, what: string): void;
}

const FAULTS = ["kill", "kill", "stop", "cut", "silence", "one way", "server"] as const;
type Fault = (typeof FAULTS)[number];

/** The time of leases: that of one server, and of three, which elect a leader for some seconds. */
const TTL_MS = { alone: 2_000, cluster: 15_000 } as const;
/** The longest time between two faults, and the longest that one lasts. */
const CALM_MS = 400;
const LASTS_MS = 3_000;
/** A node that has not ended its dispatches within this time, with everything whole, hangs. */
const HANG_MS = 60_000;
const POLL_MS = 20;

/** Runs nodes and strikes. @throws Error when a node ends by itself */
export async function strikeNodes(options: RunOptions): Promise<NodesReport> {
  const servers = await startServers(options.servers);
  const total = Math.max(1, options.faults) * options.dispatches;
  const ledger = new Ledger(total);
  const names = noLeases === undefined ? new NamesLedger() : undefined;
  const ttlMs = names === undefined ? 0 : options.servers > 1 ? TTL_MS.cluster : TTL_MS.alone;
  const given = { child: options.child, ports: servers.ports, ttlMs };
  const nodes = Array.from(
    { length: options.nodes },
    (_, i) => new NodeProcess(`node-${i}`, given, ledger, names ?? new NamesLedger()),
  );
  try {
    for (const node of nodes) await node.start();
    await strike(options, nodes, servers, { ledger, names });
    const ends = await settled(nodes, { ledger, names });
    return reportOf(options.faults, ledger, ends, names);
  } finally {
    for (const node of nodes) node.end();
    await servers.stop();
  }
}

/** What is kept of a run, outside of the nodes. */
interface Ledgers {
  readonly ledger: Ledger;
  readonly names: NamesLedger | undefined;
}

async function strike(
  options: RunOptions,
  nodes: readonly NodeProcess[],
  servers: ChaosServers,
  { ledger, names }: Ledgers,
): Promise<void> {
  const random = new Random(options.seed);
  for (let done = 0; done < options.faults; done++) {
    for (const node of nodes) node.upTo = (done + 1) * options.dispatches;
    for (const node of nodes) node.order();
    await pause(random.unit() * CALM_MS);
    const fault = FAULTS[random.below(FAULTS.length)] as Fault;
    const node = nodes[random.below(nodes.length)] as NodeProcess;
    options.progress?.(done + 1, fault);
    await strikeWith(fault, node, servers, random.unit() * LASTS_MS, random);
    if (ledger.wrong.length + (names?.wrong.length ?? 0) > 0) return;
  }
  for (const node of nodes) node.upTo = ledger.total;
}

async function strikeWith(
  fault: Fault,
  node: NodeProcess,
  servers: ChaosServers,
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
      node.cut();
      await pause(forMs);
      return node.open();
    case "silence":
    case "one way": {
      const which: Silence = fault === "silence" ? "both" : random.below(2) === 0 ? "sent" : "received";
      node.silence(which);
      await pause(forMs);
      return node.open();
    }
    case "server": {
      const start = await servers.strike();
      await pause(forMs / 4);
      return start();
    }
    default:
      fault satisfies never;
  }
}

/** Waits until all dispatches have ended, links are the same at both ends, and each name has one holder, with everything whole. */
async function settled(nodes: readonly NodeProcess[], { ledger, names }: Ledgers): Promise<Unsettled> {
  let found: Unsettled = { links: [], names: undefined };
  for (let leftMs = HANG_MS; leftMs > 0; leftMs -= POLL_MS) {
    for (const node of nodes) node.order();
    await pause(POLL_MS);
    if (!ledger.isDone) continue;
    const all = await Promise.all(nodes.map((node) => node.ends()));
    const held = all.flatMap((one) => one.held);
    found = { links: asymmetryOf(all.flatMap(({ ends }) => ends)), names: names?.inTheEnd(held) };
    if (found.links.length + (found.names?.length ?? 0) === 0) return found;
    await pause(1_000);
    leftMs -= 1_000;
  }
  return found;
}
