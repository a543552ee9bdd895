// The servers of a kill test: one, or a cluster of three in which the server that leads the leases is struck.

import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { type NatsServer, startNats } from "../../support/nats.js";
import { type NatsCluster, startNatsCluster } from "../../support/nats-cluster.js";

export interface ChaosServers {
  readonly ports: readonly number[];
  /** Kills one. Returns the call that starts it again. */
  strike(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

const portOf = (address: string): number => Number(address.split(":")[1]);
const ANSWER_MS = 2_000;

export async function startServers(count: number): Promise<ChaosServers> {
  if (count > 1) return clusterOf(await startNatsCluster(count));
  const server = await startNats();
  return { ports: [portOf(server.address)], strike: () => struck(server), stop: () => server.stop() };
}

function clusterOf(cluster: NatsCluster): ChaosServers {
  return {
    ports: cluster.addresses.map(portOf),
    strike: async () => struck((await leaderOf(cluster)) ?? (cluster.servers[0] as NatsServer)),
    stop: () => cluster.stop(),
  };
}

async function struck(server: NatsServer): Promise<() => Promise<void>> {
  await server.kill();
  return () => server.start();
}

/** Undefined while nobody leads, or nobody says who does. */
async function leaderOf(cluster: NatsCluster): Promise<NatsServer | undefined> {
  const connection = await connect({ servers: [...cluster.addresses], timeout: ANSWER_MS });
  try {
    return await cluster.leaderOf(
      await jetstreamManager(connection, { timeout: ANSWER_MS }),
      "KV_signalbox_leases",
    );
  } catch {
    return undefined;
  } finally {
    await connection.close();
  }
}
