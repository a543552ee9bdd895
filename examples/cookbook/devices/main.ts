// A demonstration: three nodes, 600 devices that send three readings each, and a node that is lost in the middle.

import process from "node:process";
import { System } from "signalbox";
import { keyedSchema, localNetwork } from "signalbox/nodes";
import { memory, openStore, type Store } from "signalbox/store";
import { Client } from "./clients.js";
import { type Gateway, gateway } from "./gateway.js";

const COUNT = Number(process.env.DEVICES ?? 600);

const network = localNetwork(); // on machines: `nats({ servers, cluster })`
const database = memory({ shared: true }); // on machines: `postgres(…)`
const systems = ["north", "south", "west"].map((name) => new System({ name, report: false }));
const stores = await Promise.all(systems.map((system) => openStore(system, database, [keyedSchema])));
const gateways = [];
for (const [i, system] of systems.entries())
  gateways.push(
    await gateway(system, { carrier: network, store: stores[i] as Store, host: "127.0.0.1", port: 0 }),
  );
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
network.lose(south.node);
await south.stop();
console.log("south is lost");
await second;
await Promise.all(clients.map((client) => client.send(3, 30)));
show();

const north = gateways[0] as Gateway;
const isSent = await north.command("meter-7", "blink");
await clients[7]?.send(4, 40); // what was sent before its answer has arrived by then
console.log(`north sent blink to meter-7: ${isSent}; the device received: ${clients[7]?.commands.join()}`);
const all = await Promise.all(clients.map((_, i) => north.totals(`meter-${i}`)));
console.log(`readings: ${all.reduce((sum, { last }) => sum + last, 0)}`);
console.log(`sum of their values: ${all.reduce((total, { sum }) => total + sum, 0)}`);
for (const client of clients) client.close();
for (const system of systems) await system.stop();
for (const store of stores) await store.close();
