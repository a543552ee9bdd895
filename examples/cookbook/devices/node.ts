// A node on a machine: its name and the address of NATS come from the environment.

import process from "node:process";
import { System } from "signalbox";
import { nats } from "signalbox/nodes";
import type { Store } from "./device.js";
import { gateway } from "./gateway.js";

/** @param store - over the database that all nodes share */
export async function startNode(store: Store): Promise<System> {
  const { NODE = "north", NATS = "127.0.0.1:4222" } = process.env;
  const system = new System({ name: NODE });
  await gateway(system, {
    carrier: nats({ servers: NATS, cluster: "meters" }),
    store,
    host: "0.0.0.0",
    port: 7_000,
  });
  return system;
}
