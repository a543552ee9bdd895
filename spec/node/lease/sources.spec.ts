// The suite of all sources of leases, over a store in memory, a PostgreSQL server, a NATS server and a cluster of three.

import { System } from "signalbox";
import { type KvLeases, kvLeases, storeLeases } from "signalbox/nodes";
import { memory, openStore } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { PostgresBench } from "../../store/postgres/bench.js";
import { describeNatsLeases, type NatsServer, startNats } from "../../support/nats.js";
import { type NatsCluster, startNatsCluster } from "../../support/nats-cluster.js";
import { describePostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";
import { type LeasePlace, realTime, sourceSuite } from "./sources.js";

/** On servers the tests wait for the real time of leases, which takes most of a minute. */
const onPostgres = proving ? describePostgres : describe.skip;
const onNats = proving ? describeNatsLeases : describe.skip;

describe("leases of a store in memory", () => {
  const clock = testClock();
  const source = memory({ shared: true, clock: () => clock.now });
  const system = (name: string): System =>
    new System({ name, environment: clock.environment, report: false });
  sourceSuite(() => ({
    system,
    source: async () => storeLeases(await openStore(system("source"), source, [])),
    pass: (ms) => clock.advance(ms),
    until: async (isSo) => {
      for (let turn = 0; turn < 1_000 && !isSo(); turn++) await clock.advance(1);
    },
  }));
});

onPostgres("leases of a store on PostgreSQL", () => {
  const bench = new PostgresBench({ name: "leases", version: 1, tables: [] });
  const at = bench.place();
  sourceSuite(() => ({
    ...realTime,
    source: async () => storeLeases(await bench.opened(bench.server.connection, { schema: at })),
  }));
});

/** Sources with a connection each, until the end of the tests. */
function buckets(options: () => Parameters<typeof kvLeases>[1]): LeasePlace & { end(): Promise<void> } {
  const opened: KvLeases[] = [];
  return {
    ...realTime,
    source: async () => {
      const leases = await kvLeases(new System({ report: false }), options());
      opened.push(leases);
      return leases;
    },
    end: async () => {
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}

onNats("leases of JetStream on one server", () => {
  let server: NatsServer;
  const place = buckets(() => ({ servers: server.address }));
  beforeAll(async () => {
    server = await startNats();
  });
  afterAll(async () => {
    await place.end();
    await server.stop();
  });
  sourceSuite(() => place);
});

onNats("leases of JetStream on three servers", () => {
  let cluster: NatsCluster;
  const place = buckets(() => ({ servers: cluster.addresses, replicas: 3 }));
  beforeAll(async () => {
    cluster = await startNatsCluster();
  });
  afterAll(async () => {
    await place.end();
    await cluster.stop();
  });
  sourceSuite(() => place);
});
