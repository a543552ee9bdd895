// The recipe of the devices: crashes under any schedule, three nodes one of which is lost, and real connections.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { ConsumerGroup, type Pid, System } from "signalbox";
import { type CarrierSource, nats } from "signalbox/nodes";
import { testClock } from "signalbox/testing";
import { afterEach, expect, it } from "vitest";
import { Client } from "../../../examples/cookbook/devices/clients.js";
import { type Desks, desk } from "../../../examples/cookbook/devices/desk.js";
import { type Command, LIMITS, type Store, type Totals } from "../../../examples/cookbook/devices/device.js";
import { type Gateway, gateway } from "../../../examples/cookbook/devices/gateway.js";
import { Wire } from "../../../examples/cookbook/devices/wire.js";
import { describeNats, startNats } from "../../support/nats.js";
import { explored } from "../../support/proof.js";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function memory(save: (id: string) => Promise<void> = async () => undefined) {
  const rows = new Map<string, Totals>();
  const store: Store = {
    load: async (id) => rows.get(id),
    save: async (id, totals, expected) => {
      await save(id);
      if ((rows.get(id)?.last ?? 0) !== expected) throw new Error("somebody else has written");
      rows.set(id, totals);
    },
  };
  return { rows, store };
}

/** The desk of a system that is alone. */
async function alone(system: System, store: Store) {
  const desks: Desks = new ConsumerGroup({ name: "desks" });
  await system.start(desk(system, desks, store));
  const from = system.spawn<Command>({ handle: () => undefined });
  return async (id: string, n: number, value: number): Promise<boolean> => {
    const { reply } = await system.dispatch(desks, { type: "reading", id, n, value, from });
    return reply === true;
  };
}

it("each reading counts once, whenever devices crash, and if it is sent twice", async () => {
  await explored(
    async (sim) => {
      const system = sim.system({ name: "north" });
      const { rows, store } = memory();
      system.events.on("exit", ({ pid }) => {
        if (pid.label === "device") sim.sometimes("a device crashed");
      });
      sim.calm();
      const report = await alone(system, store);
      sim.storm();
      const sent = async (id: string) => {
        for (let n = 1; n <= 2; ) if (await report(id, n, n * 10).catch(() => false)) n++;
      };
      await Promise.all([sent("a"), sent("a"), sent("b")]);
      expect(Object.fromEntries(rows)).toEqual({ a: { last: 2, sum: 30 }, b: { last: 2, sum: 30 } });
    },
    { quick: 60, share: 0.1, seed: 1, faults: { crash: { of: "north/**/device", atMost: 4 } } },
  );
});

it("an idle device ends, and comes back with what it had", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  stops.push(() => clock.until(system.stop()));
  const { rows, store } = memory();
  const report = await clock.until(alone(system, store));
  await clock.until(report("a", 1, 10));
  await clock.advance(LIMITS.idleMs);
  expect(running(system, "device")).toBe(0);
  await clock.until(report("a", 2, 20));
  expect(rows.get("a")).toEqual({ last: 2, sum: 30 });
});

it("a device whose row another process has written begins again from that row", async () => {
  await using system = new System({ report: false });
  const { rows, store } = memory();
  const report = await alone(system, store);
  await report("a", 1, 10);
  rows.set("a", { last: 5, sum: 100 });
  expect(await report("a", 6, 20)).toBe(true);
  expect(rows.get("a")).toEqual({ last: 6, sum: 120 });
});

it("a reading that ends its device three times is given up, and the other devices go on", async () => {
  await using system = new System({ report: false });
  const { store, rows } = memory(async (id) => {
    if (id === "bad") throw new Error("the database says no");
  });
  const report = await alone(system, store);
  expect(await Promise.all([report("bad", 1, 1), report("good", 1, 1)])).toEqual([false, true]);
  expect([...rows.keys()]).toEqual(["good"]);
});

const running = (system: System, label: string): number =>
  system.processes().filter((pid: Pid) => pid.label === label).length;

interface Node extends Gateway {
  readonly system: System;
}

async function nodes(names: readonly string[], carrier: () => CarrierSource, store: Store): Promise<Node[]> {
  const all: Node[] = [];
  for (const name of names) {
    const system = new System({ name, report: false });
    stops.push(() => system.stop());
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

const sumOf = (rows: ReadonlyMap<string, Totals>): number =>
  [...rows.values()].reduce((total, { sum }) => total + sum, 0);

it("no reading is lost or counted twice when a node is lost, and commands reach a device from any node", async () => {
  let writes = 0;
  const { rows, store } = memory(async () => {
    if (++writes % 10 === 0) throw new Error("the database is busy");
  });
  const wire = new Wire();
  const all = await nodes(["north", "south", "west"], () => wire, store);
  const clients = clientsOf(30, all);
  await Promise.all(clients.map((client) => client.send(1, 10)));
  const second = Promise.all(clients.map((client) => client.send(2, 20)));
  const [north, south] = all as [Node, Node, Node];
  wire.lose(south.system.node);
  await south.system.stop();
  await second;
  expect([rows.size, sumOf(rows)]).toEqual([30, 900]);

  expect(await north.command("meter-4", "blink")).toBe(true);
  expect(await north.command("unknown", "blink")).toBe(false);
  await clients[4]?.send(3, 30);
  expect(clients[4]?.commands).toEqual(["blink"]);
});

describeNats("the gateway over NATS", () => {
  it("goes on with all devices when one of its nodes stops", async () => {
    await using server = await startNats();
    const { rows, store } = memory();
    const carrier = () => nats({ servers: server.address, cluster: "meters" });
    const all = await nodes(["north", "south", "west"], carrier, store);
    const clients = clientsOf(20, all);
    await Promise.all(clients.map((client) => client.send(1, 10)));
    await all[1]?.system.stop();
    await Promise.all(clients.map((client) => client.send(2, 20)));
    expect([rows.size, sumOf(rows)]).toEqual([20, 600]);
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
  const { rows, store } = memory();
  const [{ system, port }] = (await nodes(["north"], () => new Wire(), store)) as [Node];
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
  expect([...rows]).toEqual([["meter-1", { last: 1, sum: 5 }]]);
  expect(running(system, "device")).toBe(1);
  good.socket.destroy();
});

it("a stop ends all connections, and what was answered is stored", async () => {
  const { rows, store } = memory();
  const [{ system, port }] = (await nodes(["north"], () => new Wire(), store)) as [Node];
  const one = await client(port);
  expect(await one.ask("meter-1 1 5\n")).toBe("ok 1\n");
  const closed = once(one.socket, "close");
  await system.stop();
  await closed;
  expect(rows.get("meter-1")).toEqual({ last: 1, sum: 5 });
});
