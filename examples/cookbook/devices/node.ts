// A node on a machine: its name and the addresses of NATS and PostgreSQL come from the environment.

import process from "node:process";
import { System } from "signalbox";
import { keyedSchema, nats } from "signalbox/nodes";
import { openStore, postgres } from "signalbox/store";
import { gateway } from "./gateway.js";

export async function startNode(): Promise<System> {
  const { NODE = "north", NATS = "127.0.0.1:4222", DATABASE = "postgres://127.0.0.1/meters" } = process.env;
  const system = new System({ name: NODE });
  const store = await openStore(system, postgres(DATABASE), [keyedSchema]);
  await gateway(system, {
    carrier: nats({ servers: NATS, cluster: "meters" }),
    store,
    host: "0.0.0.0",
    port: 7_000,
  });
  return system;
}
