// What runs beside the executions of a host, as its children: the admin socket.

import type { Service } from "../../host/host-life.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";

/** Makes a child of a host, when the host has its store. @param self - the process of the host */
export type HostService = (kernel: Kernel, self: Pid<never>) => Service;
