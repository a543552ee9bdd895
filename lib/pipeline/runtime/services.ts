// What runs beside the executions of a host, as its children: the admin socket.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Startable } from "../../process/start.js";

/** Makes a child of a host, when the host has its store. @param self - the process of the host */
export type HostService = (
  kernel: Kernel,
  self: Pid<never>,
) => Startable<readonly [], { readonly pid: Pid<never> }>;
