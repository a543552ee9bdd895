// All lines to the entrances of the library.

import type { System } from "signalbox";
import { core } from "./core.js";
import { flows, pipelines } from "./durable.js";
import type { Lines } from "./lines.js";
import { nodes } from "./nodes.js";
import { observers } from "./observer.js";
import { services } from "./service.js";
import { stores, topologies } from "./stream.js";
import { testing } from "./testing.js";

/** How to reach every entrance, on a system that the test stops. */
export async function allLines(system: System): Promise<Lines> {
  const parts = [core, stores, topologies, services, nodes, flows, pipelines, observers, testing];
  return Object.assign({}, ...(await Promise.all(parts.map((part) => part(system)))));
}
