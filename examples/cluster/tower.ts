// The tower: the node that dispatches every flight to the nodes of the crew, and keeps the ledger. It is not killed.

import { type SupervisorDefinition, System, supervisor } from "signalbox";
import { joinCluster, nats } from "signalbox/nodes";
import type { Flight } from "../flights/flights.js";
import { type Account, Ledger } from "../flights/ledger.js";
import { CLUSTER, CONCURRENCY, newCrew } from "./crew.js";
import { Kills } from "./kills.js";
import { NodeProcess, type Say } from "./node-process.js";
import { NodesUp } from "./nodes-up.js";

export interface TowerOptions {
  readonly flights: readonly Flight[];
  readonly nodes: number;
  readonly kills: number;
  readonly seed: number;
  /** The address of the NATS server. */
  readonly servers: string;
  readonly say: Say;
  /** Ends the run. */
  readonly signal: AbortSignal;
}

export interface Flown {
  readonly account: Account;
  readonly kills: number;
  readonly reroutes: number;
  /** Flights that each node has answered. */
  readonly byNode: ReadonlyMap<string, number>;
  readonly failures: readonly Error[];
}

/** Flights that are dispatched at a time, for each node. A few more than it works on: they wait in the group for whichever is free. */
const WINDOW = CONCURRENCY + 16;
/** Restarts beyond the kills of this program, after which the nodes are broken. */
const SPARE_RESTARTS = 3;
const LONG_MS = 3_600_000;

/** @throws Error when nodes cannot be started; the reason of `signal` */
export async function fly(options: TowerOptions): Promise<Flown> {
  const { flights, nodes, kills, seed, servers, say, signal } = options;
  await using system = new System({ name: "tower" });
  const node = await joinCluster(system, nats({ servers, cluster: CLUSTER }));
  const crew = newCrew(node);
  const ledger = await system.start(Ledger, flights.length);
  const up = new NodesUp(node, nodes, say);
  signal.addEventListener("abort", up.close);
  const root = await system.start(nodeProcesses(options));
  const plan = new Kills(flights.length, kills, seed);
  const flown = { kills: 0, reroutes: 0, byNode: new Map<string, number>(), failures: [] as Error[] };
  let next = 0;
  let done = 0;

  const strike = async (name: string): Promise<void> => {
    flown.kills++;
    say(`kill -9 ${name}, at flight ${next.toLocaleString("en")}`);
    await NodeProcess.at(system, name).call.kill();
  };
  /** Dispatches one flight after the other. So many of these run at once, and no more flights are in flight. */
  const lane = async (): Promise<void> => {
    while (next < flights.length) {
      const index = next++;
      const victim = plan.victim(index, up.ids);
      if (victim !== undefined) void strike(up.remove(victim)).catch(() => undefined);
      try {
        const { reply, deliveredTo, reroutedFrom } = await system.dispatch(crew, flights[index]!, { signal });
        // One outcome for each dispatch: a flight that two nodes have worked on is counted once.
        if (reply !== undefined) ledger.cast.commit(index, reply);
        flown.reroutes += reroutedFrom.length;
        count(flown.byNode, deliveredTo);
      } catch (error) {
        signal.throwIfAborted();
        flown.failures.push(error as Error);
      }
      progress(say, ++done, flights.length, flown.reroutes);
    }
  };

  const broken = system.exited(root.pid, { signal }).then(() => {
    throw new Error("the nodes end again and again: see above");
  });
  await Promise.race([up.complete, broken]);
  await Promise.race([Promise.all(Array.from({ length: nodes * WINDOW }, lane)), broken]);
  up.close();
  return { ...flown, account: await ledger.call.account() };
}

/** One child for each node. */
function nodeProcesses({ nodes, kills, servers, say }: TowerOptions): SupervisorDefinition {
  const names = Array.from({ length: nodes }, (_, i) => `node-${i + 1}`);
  return supervisor({
    label: "nodes",
    intensity: kills + SPARE_RESTARTS,
    periodMs: LONG_MS,
    report: false, // the kills are on the screen already
    children: names.map((name) => ({ id: name, name, start: NodeProcess, args: [name, servers, say] })),
  });
}

/** The id of a consumer is the name of its node, and more where two nodes have the same name. */
function count(byNode: Map<string, number>, consumer: string): void {
  const [name = ""] = consumer.split("@");
  byNode.set(name, (byNode.get(name) ?? 0) + 1);
}

function progress(say: Say, done: number, all: number, reroutes: number): void {
  const tenth = Math.ceil(all / 10);
  if (done % tenth === 0)
    say(`${(done / tenth) * 10} %: ${done.toLocaleString("en")} flights, ${reroutes} re-routed`);
}
