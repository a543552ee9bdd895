// The admin socket of a program without a durable host: people look at its system.

import type { Pid } from "../../process/pid.js";
import { causeOfStart } from "../../supervisor/cause-of-start.js";
import type { System } from "../../system.js";
import { adminServer } from "../admin-server.js";
import { systemService } from "./system-table.js";

/** Opens the socket, and gives its process. @throws AdminSocketError */
export async function openSystemSocket(path: string, system: System): Promise<Pid> {
  try {
    return await system.start(adminServer({ path, service: systemService(system.kernel) }));
  } catch (error) {
    throw causeOfStart(error);
  }
}
