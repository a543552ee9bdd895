// A demonstration: three nodes, 600 devices that send three readings each, and a node that is lost in the middle. Every hundredth write fails.

import process from "node:process";
import { System } from "signalbox";
import { Client } from "./clients.js";
import type { Totals } from "./device.js";
import { gateway } from "./gateway.js";
import { Wire } from "./wire.js";

const COUNT = Number(process.env.DEVICES ?? 600);

const rows = new Map<string, Totals>();
let writes = 0;
const store = {
  load: async (id: string) => rows.get(id),
  save: async (id: string, totals: Totals, expected: number) => {
    if (++writes % 100 === 0) throw new Error("the database is busy");
    if ((rows.get(id)?.last ?? 0) !== expected) throw new Error(`${id} has a newer total`);
    rows.set(id, totals);
  },
};

const wire = new Wire();
const systems = ["north", "south", "west"].map((name) => new System({ name, report: false }));
const gateways = [];
for (const system of systems)
  gateways.push(await gateway(system, { carrier: wire, store, host: "127.0.0.1", port: 0 }));
const ports = gateways.map(({ port }) => port);
const clients = Array.from({ length: COUNT }, (_, i) => new Client(`meter-${i}`, ports, i));

/** The nodes that have processes of devices. */
function show(): void {
  const busy = systems.filter((system) => system.processes().some(({ label }) => label === "device"));
  console.log(`devices run on ${busy.map(({ name }) => name).join(", ")}`);
}

await Promise.all(clients.map((client) => client.send(1, 10)));
show();

// South is lost while the second readings are on their way: its devices move, and its connections come to the others.
const [, south] = systems as [System, System, System];
const second = Promise.all(clients.map((client) => client.send(2, 20)));
await new Promise((resolve) => setTimeout(resolve, 20));
wire.lose(south.node);
await south.stop();
console.log("south is lost");
await second;
await Promise.all(clients.map((client) => client.send(3, 30)));
show();

const isTold = await gateways[0]?.command("meter-7", "blink");
await clients[7]?.send(4, 40); // what was sent before its answer has arrived by then
console.log(`meter-7 was told by north: ${isTold}; it does: ${clients[7]?.commands.join()}`);
const all = [...rows.values()];
console.log(`readings: ${all.reduce((sum, { last }) => sum + last, 0)}`);
console.log(`sum of their values: ${all.reduce((total, { sum }) => total + sum, 0)}`);
for (const client of clients) client.close();
for (const system of systems) await system.stop();
