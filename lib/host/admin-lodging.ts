// Where a durable host answers people: its admin socket, with its own operations and those on the system that it runs in.

import { adminServer } from "../admin/admin-server.js";
import type { AdminService } from "../admin/post.js";
import { systemService } from "../admin/system/system-table.js";
import type { Kernel } from "../process/kernel.js";
import type { Pid } from "../process/pid.js";
import type { Startable } from "../process/start.js";

/** The process of the admin socket of a host. @param path - of the socket */
export function adminLodging(path: string, own: AdminService, kernel: Kernel): Startable<readonly [], Pid> {
  const operations = new Map([...own.operations, ...systemService(kernel).operations]);
  return adminServer({ path, service: { ...own, operations } });
}
