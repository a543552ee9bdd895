// The recipe of the devices: crashes under any schedule, three nodes one of which is lost, and real connections.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type Pid, System, supervisor } from "signalbox";
import { type CarrierSource, joinCluster, keyed, keyedSchema, localNetwork, nats } from "signalbox/nodes";
import { memory, openStore, type Store, type StoreSource } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { afterEach, expect, it } from "vitest";
import { Client } from "../../../examples/cookbook/devices/clients.js";
import { type Command, Device, type Devices, LIMITS } from "../../../examples/cookbook/devices/device.js";
import { type Gateway, gateway } from "../../../examples/cookbook/devices/gateway.js";
import { describeNats, startNats } from "../../support/nats.js";
import { explored } from "../../support/proof.js";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A store whose writes fail for some devices, or now and then. */
function failing(store: Store, fails: (key: string) => boolean): Store {
  const own: Partial<Store> = {
    commit: async (set) => {
      const [write] = set.writes;
      const row = (write as { readonly row?: { readonly key?: string } } | undefined)?.row;
      if (row?.key !== undefined && fails(row.key)) throw new Error("the database is busy");
      return store.commit(set);
    },
  };
  return new Proxy(store, {
    get: (whole, name: keyof Store) => {
      const value: unknown = own[name] ?? whole[name];
      return typeof value === "function" ? value.bind(whole) : value;
    },
  });
}

/** The devices of a system that is alone. */
async function alone(system: System, store: Store): Promise<Devices> {
  const node = await joinCluster(system, localNetwork(), { settleMs: 0 });
  // Renewals of one long lease are soon told.
  const devices = keyed(node, { name: "device", store, start: Device, shards: 1, ttlMs: 60_000 });
  await system.start(supervisor({ children: [{ id: "devices", start: devices }] }));
  return devices;
}

/** Connections of nobody: readings come from one of them. */
const connection = (system: System): Pid<Command> => system.spawn<Command>({ handle: () => undefined });

it("each reading counts once, whenever devices crash, and if it is sent twice", async () => {
  await explored(
    async (sim) => {
      const system = sim.system({ name: "north" });
      const store = await openStore(system, sim.store(), [keyedSchema]);
      system.events.on("exit", ({ pid }) => {
        if (pid.label === "device") sim.sometimes("a device crashed");
      });
      sim.calm();
      const node = await joinCluster(system, sim.network(), { settleMs: 0 });
      const devices = keyed(node, { name: "device", store, start: Device, shards: 2 });
      await system.start(supervisor({ children: [{ id: "devices", start: devices }] }));
      const from = connection(system);
      sim.storm();
      const sent = async (id: string) => {
        for (let n = 1; n <= 2; n++) await devices.at(id, { repeat: true }).call.report(n, n * 10, from);
      };
      await Promise.all([sent("a"), sent("a"), sent("b")]);
      for (const id of ["a", "b"])
        expect(await devices.at(id, { repeat: true }).call.totals()).toEqual({ last: 2, sum: 30 });
    },
    {
      quick: 20,
      share: 0.1,
      seed: 1,
      sometimes: ["a device crashed"],
      faults: { crash: { of: "north/**/device", atMost: 4 } },
    },
  );
});

it("an idle device ends, and comes back with what it had", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  stops.push(() => clock.until(system.stop()));
  const store = await openStore(system, memory(), [keyedSchema]);
  const devices = await clock.until(alone(system, store));
  const from = connection(system);
  await clock.until(devices.at("a").call.report(1, 10, from));
  expect(running(system, "device")).toBe(1);
  await clock.advance(LIMITS.idleMs);
  expect(running(system, "device")).toBe(0);
  await clock.until(devices.at("a").call.report(2, 20, from));
  expect(await clock.until(devices.at("a").call.totals())).toEqual({ last: 2, sum: 30 });
});

it("a reading that ends its device again and again is given up, and the other devices go on", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  stops.push(() => clock.until(system.stop()));
  const store = failing(await openStore(system, memory(), [keyedSchema]), (key) => key === "bad");
  const devices = await clock.until(alone(system, store));
  const from = connection(system);
  const report = (id: string) => devices.at(id, { repeat: true }).call.report(1, 1, from);
  const [bad, good] = await clock.until(Promise.allSettled([report("bad"), report("good")]));
  expect(bad).toMatchObject({ status: "rejected", reason: { code: "ERR_KEY_UNAVAILABLE" } });
  expect(good.status).toBe("fulfilled");
});

const running = (system: System, label: string): number =>
  system.processes().filter((pid: Pid) => pid.label === label).length;

interface Node extends Gateway {
  readonly system: System;
}

async function nodes(
  names: readonly string[],
  carrier: () => CarrierSource,
  fails: () => boolean = () => false,
): Promise<Node[]> {
  const all: Node[] = [];
  const database: StoreSource = memory({ shared: true });
  for (const name of names) {
    const system = new System({ name, report: false });
    const opened = await openStore(system, database, [keyedSchema]);
    stops.push(async () => {
      await system.stop();
      await opened.close();
    });
    const store = failing(opened, fails);
    const node = await gateway(system, { carrier: carrier(), store, host: "127.0.0.1", port: 0 });
    all.push({ system, ...node });
  }
  return all;
}

function clientsOf(count: number, all: readonly Node[]): Client[] {
  const ports = all.map(({ port }) => port);
  return Array.from({ length: count }, (_, i) => {
    const client = new Client(`meter-${i}`, ports, i);
    stops.push(() => client.close());
    return client;
  });
}

/** How many readings the devices have, and the sum of their values. */
async function totalsOf(count: number, at: Node): Promise<[readings: number, sum: number]> {
  const all = await Promise.all(Array.from({ length: count }, (_, i) => at.totals(`meter-${i}`)));
  return [all.reduce((total, { last }) => total + last, 0), all.reduce((total, { sum }) => total + sum, 0)];
}

it("no reading is lost or counted twice when a node is lost, and commands reach a device from any node", async () => {
  let writes = 0;
  const network = localNetwork();
  const all = await nodes(
    ["north", "south", "west"],
    () => network,
    () => ++writes % 10 === 0,
  );
  const clients = clientsOf(30, all);
  await Promise.all(clients.map((client) => client.send(1, 10)));
  const second = Promise.all(clients.map((client) => client.send(2, 20)));
  const [north, south] = all as [Node, Node, Node];
  network.lose(south.system.node);
  await south.system.stop();
  await second;
  expect(await totalsOf(30, north)).toEqual([60, 900]);

  expect(await north.command("meter-4", "blink")).toBe(true);
  expect(await north.command("unknown", "blink")).toBe(false);
  await clients[4]?.send(3, 30);
  expect(clients[4]?.commands).toEqual(["blink"]);
});

describeNats("the gateway over NATS", () => {
  it("goes on with all devices when one of its nodes stops", async () => {
    await using server = await startNats();
    const carrier = () => nats({ servers: server.address, cluster: "meters" });
    const all = await nodes(["north", "south", "west"], carrier);
    const clients = clientsOf(20, all);
    await Promise.all(clients.map((client) => client.send(1, 10)));
    await all[1]?.system.stop();
    await Promise.all(clients.map((client) => client.send(2, 20)));
    expect(await totalsOf(20, all[0] as Node)).toEqual([40, 600]);
    expect(await all[0]?.command("meter-1", "blink")).toBe(true);
    for (const stop of stops.splice(0)) await stop();
  });
});

async function client(
  port: number,
): Promise<{ readonly socket: Socket; ask(line: string): Promise<string> }> {
  const socket = connect({ port, host: "127.0.0.1" }).setEncoding("latin1");
  await once(socket, "connect");
  return {
    socket,
    ask: async (line) => {
      socket.write(line);
      return (await once(socket, "data"))[0];
    },
  };
}

it("a bad line, or one without an end, costs its connection, and no other one", async () => {
  const [north] = (await nodes(["north"], localNetwork)) as [Node];
  const { system, port } = north;
  const good = await client(port);
  for (const line of ["meter-1\n", "x y z\n", `${"a".repeat(1_000)}`]) {
    const bad = await client(port);
    expect(await bad.ask(line)).toBe("no reading\n");
    bad.socket.end();
    await once(bad.socket, "close");
  }
  const gone = await client(port);
  gone.socket.resetAndDestroy();
  expect(await good.ask("meter-1 1 5\n")).toBe("ok 1\n");
  expect(await north.totals("meter-1")).toEqual({ last: 1, sum: 5 });
  expect(running(system, "device")).toBe(1);
  good.socket.destroy();
});

it("a stop ends all connections, and what was answered is stored", async () => {
  const network = localNetwork();
  const [north, south] = (await nodes(["north", "south"], () => network)) as [Node, Node];
  const { system, port } = north;
  const one = await client(port);
  expect(await one.ask("meter-1 1 5\n")).toBe("ok 1\n");
  const closed = once(one.socket, "close");
  await system.stop();
  await closed;
  expect(await south.totals("meter-1")).toEqual({ last: 1, sum: 5 });
});
