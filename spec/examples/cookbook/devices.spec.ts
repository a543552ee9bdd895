// The recipe of the devices: crashes under any schedule, and real connections on the host's own network.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { CalleeExitedError, dynamicSupervisor, Registry, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, expect, it } from "vitest";
import { send } from "../../../examples/cookbook/devices/clients.js";
import { type Devices, report } from "../../../examples/cookbook/devices/connection.js";
import { Device, LIMITS, type Store, type Totals } from "../../../examples/cookbook/devices/device.js";
import { fleet } from "../../../examples/cookbook/devices/fleet.js";
import { explored } from "../../support/proof.js";

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function memory(save: (id: string) => Promise<void> = async () => undefined) {
  const rows = new Map<string, Totals>();
  const store: Store = {
    load: async (id) => rows.get(id),
    save: async (id, totals) => {
      await save(id);
      if (totals.last > (rows.get(id)?.last ?? 0)) rows.set(id, totals);
    },
  };
  return { rows, store };
}

const definition = (system: System) => {
  const keys = new Registry<string>(system);
  const template = { id: "device", start: Device, restart: "temporary" } as const;
  return {
    keys,
    Devices: dynamicSupervisor({ child: { ...template, name: (id) => keys.claim(id) }, report: false }),
  };
};

it("each reading counts once, whenever devices crash, and if it is sent twice", async () => {
  await explored(
    async (sim) => {
      const system = sim.system({ name: "meters" });
      const { rows, store } = memory();
      system.events.on("exit", ({ pid }) => {
        if (pid.label === "device") sim.sometimes("a device crashed");
      });
      sim.calm();
      const devices: Devices = await system.start(definition(system).Devices);
      sim.storm();
      const sent = async (id: string) => {
        for (let n = 1; n <= 2; ) {
          const isTaken = await report(devices, store, { id, n, value: n * 10 }).then(
            () => true,
            () => false,
          );
          if (isTaken) n++;
        }
      };
      await Promise.all([sent("a"), sent("a"), sent("b")]);
      expect(Object.fromEntries(rows)).toEqual({ a: { last: 2, sum: 30 }, b: { last: 2, sum: 30 } });
    },
    { quick: 60, share: 0.1, seed: 1, faults: { crash: { of: "meters/*/device", atMost: 4 } } },
  );
});

it("an idle device ends, and comes back with what it had", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  stops.push(() => clock.until(system.stop()));
  const { store } = memory();
  const { keys, Devices } = definition(system);
  const devices = await system.start(Devices);
  await report(devices, store, { id: "a", n: 1, value: 10 });
  await clock.advance(LIMITS.idleMs);
  expect(keys.size).toBe(0);
  await report(devices, store, { id: "a", n: 2, value: 20 });
  expect(await store.load("a")).toEqual({ last: 2, sum: 30 });
});

it("a reading that ends its device three times is given up, and the other devices go on", async () => {
  await using system = new System({ report: false });
  const { store, rows } = memory(async (id) => {
    if (id === "bad") throw new Error("the database says no");
  });
  const devices = await system.start(definition(system).Devices);
  const bad = report(devices, store, { id: "bad", n: 1, value: 1 });
  await report(devices, store, { id: "good", n: 1, value: 1 });
  await expect(bad).rejects.toBeInstanceOf(CalleeExitedError);
  expect([...rows.keys()]).toEqual(["good"]);
});

async function listening(store: Store): Promise<{ readonly system: System; readonly port: number }> {
  const system = new System({ name: "meters", report: false });
  stops.push(() => system.stop());
  const port = await new Promise<number>((resolve) => {
    void system.start(fleet(system, { port: 0, host: "127.0.0.1", store, onListening: resolve }));
  });
  return { system, port };
}

const running = (system: System, label: string): number =>
  system.processes().filter((pid) => pid.label === label).length;

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

it("many devices, each with a connection, send all their readings while some crash", async () => {
  let writes = 0;
  const { rows, store } = memory(async () => {
    if (++writes % 10 === 0) throw new Error("the database is busy");
  });
  const { system, port } = await listening(store);
  await send(port, 50, 3);
  expect(rows.size).toBe(50);
  expect([...rows.values()].every(({ last, sum }) => last === 3 && sum === 60)).toBe(true);
  expect([writes, running(system, "device")]).toEqual([166, 50]);
});

it("a bad line, or one without an end, costs its connection, and no other one", async () => {
  const { rows, store } = memory();
  const { system, port } = await listening(store);
  const good = await client(port);
  for (const line of ["meter-1\n", "x y z\n", `${"a".repeat(1_000)}`]) {
    const bad = await client(port);
    expect(await bad.ask(line)).toBe("no reading\n");
    await once(bad.socket, "close");
  }
  const gone = await client(port);
  gone.socket.resetAndDestroy();
  expect(await good.ask("meter-1 1 5\n")).toBe("ok 1\n");
  expect([...rows]).toEqual([["meter-1", { last: 1, sum: 5 }]]);
  expect(running(system, "device")).toBe(1);
});

it("a stop ends all connections, and what was answered is stored", async () => {
  const { rows, store } = memory();
  const { system, port } = await listening(store);
  const one = await client(port);
  expect(await one.ask("meter-1 1 5\n")).toBe("ok 1\n");
  const closed = once(one.socket, "close");
  await system.stop();
  await closed;
  expect(rows.get("meter-1")).toEqual({ last: 1, sum: 5 });
});
