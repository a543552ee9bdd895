// A cluster of NATS servers with JetStream for tests, which keeps streams on three of them.

import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { freePort, type NatsServer, NatsServerProcess } from "./nats.js";
import { until } from "./until.js";

/** Servers that run until `stop`. */
export interface NatsCluster extends AsyncDisposable {
  readonly servers: readonly NatsServer[];
  /** Where they are, for clients. */
  readonly addresses: readonly string[];
  /** The server that leads the stream, by the word of the others; undefined while it has no leader. */
  leaderOf(manager: JetStreamManager, stream: string): Promise<NatsServer | undefined>;
  /** Kills them and removes their data. */
  stop(): Promise<void>;
}

/** Starts servers that know each other. Resolves when they have a leader. @throws Error where there is none; see `noNats` */
export async function startNatsCluster(count = 3): Promise<NatsCluster> {
  const ports = await freePorts(2 * count);
  const routes = ports.slice(count).map((port) => `nats://127.0.0.1:${port}`);
  const servers = routes.map((route, i) => {
    // Clients reach them at the addresses that they are given, such as those of proxies, and at no others.
    const flags = [
      "-js",
      "--no_advertise",
      "-n",
      `server-${i}`,
      "--cluster_name",
      "three",
      "--cluster",
      route,
    ];
    return new NatsServerProcess(ports[i] as number, [...flags, "--routes", routes.join()]);
  });
  const cluster = new Servers(servers);
  try {
    await Promise.all(servers.map((server) => server.start()));
    await until(() => keeps(cluster.addresses, count), "a cluster that keeps a stream");
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/** Whether a stream can be made on all servers: they have a leader, and know each other. */
async function keeps(servers: readonly string[], count: number): Promise<boolean> {
  const connection = await connect({ servers: [...servers], timeout: ANSWER_MS });
  try {
    const { streams } = await jetstreamManager(connection, { timeout: ANSWER_MS });
    await streams.add({ name: "ready", subjects: ["ready"], num_replicas: count });
    return await streams.delete("ready");
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

const ANSWER_MS = 2_000;

class Servers implements NatsCluster {
  readonly servers: readonly NatsServer[];

  constructor(servers: readonly NatsServer[]) {
    this.servers = servers;
  }

  get addresses(): string[] {
    return this.servers.map(({ address }) => address);
  }

  async leaderOf(manager: JetStreamManager, stream: string): Promise<NatsServer | undefined> {
    const { cluster } = await manager.streams.info(stream);
    const [, at] = /^server-(\d+)$/.exec(cluster?.leader ?? "") ?? [];
    return at === undefined ? undefined : this.servers[Number(at)];
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
