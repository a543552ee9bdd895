// The admin socket of a service: people look at its system, and at the durable hosts in it, whatever their stores are.

import type { Pid } from "../../process/pid.js";
import { causeOfStart } from "../../supervisor/cause-of-start.js";
import type { System } from "../../system.js";
import { adminServer } from "../admin-server.js";
import { offeredBy } from "./offered.js";

/** Opens the socket, and gives its process. @throws AdminSocketError */
export async function openSystemSocket(path: string, system: System): Promise<Pid> {
  try {
    const others = offeredBy(system.kernel, "socket");
    const service = { name: "system", shares: true, operations: new Map(), others };
    return await system.start(adminServer({ path, service }));
  } catch (error) {
    throw causeOfStart(error);
  }
}
